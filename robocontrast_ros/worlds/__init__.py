"""The scene side of a bench: bring a scene about through a simulator's standard services."""

from robocontrast_ros.worlds.contacts import ContactsJoin, Touching
from robocontrast_ros.worlds.simulated_scene import SimulatedScene, Simulation, SimulationError

__all__ = ["ContactsJoin", "SimulatedScene", "Simulation", "SimulationError", "Touching"]
