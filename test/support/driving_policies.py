"""A policy that drives blindly, whatever it sees."""

from __future__ import annotations

from robocontrast_ros.policies.protocol import PolicyDescription

STOP, FORWARD, LEFT = 0, 1, 2


class AboutTurn:
    """Turns round, drives into what is behind, and says that it is done."""

    MOVES = (*[LEFT] * 6, *[FORWARD] * 4, STOP)

    @classmethod
    def from_file(cls, path):
        """Return the policy; it has no parameters."""
        return cls()

    def describe(self):
        """Ask for the camera, though it does not look."""
        return PolicyDescription("about_turn", "discrete_navigation", 1, cameras=("camera",))

    def reset(self, instruction, seed):
        """Begin anew."""
        self.left = list(self.MOVES)

    def act(self, observation):
        """Make the next move."""
        assert observation.images["camera"].shape == (48, 64, 3) and observation.scene is None
        return [[self.left.pop(0)]]
