"""Oracles for sessions whose robot is shown no scene: they know where things stand from the journal's last set-up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from robocontrast_ros.configuration import load_record, resolve_uri
from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.objects.joints import part_pose, position_in
from robocontrast_ros.policies.baselines.kitchen.joints import JointHandler
from robocontrast_ros.policies.baselines.kitchen.moving import Phase as JointPhase
from robocontrast_ros.policies.baselines.kitchen.oracle import KitchenOracle
from robocontrast_ros.policies.baselines.tabletop.handling import Phase
from robocontrast_ros.policies.baselines.tabletop.oracle import TabletopOracle, TabletopOracleParameters
from robocontrast_ros.runs.events import SetUp
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.tasks.kitchen import Kitchen
from robocontrast_ros.tasks.tabletop import Tabletop

RATE = 5.0
"""Control steps a second [Hz]: half of those of the shipped tasks, of twice the length. Pictures are as many."""

OF_A_STEP = ("step", "slow_step", "turn", "leash", "stalled", "still", "still_turn", "settled")
"""What the oracles' parameters say of one step."""


class Told:
    """Takes its target to move with the tool while it has it; its file is beside the folder runs.

    When it has put the target down, or let a handle go, there is a file ``put_down`` beside its own.
    """

    runs: Path
    task: type
    oracle: str
    describe_file = None  # its own file has no parameters of an oracle

    @classmethod
    def from_file(cls, path: Path) -> Told:
        file = resolve_uri(f"package://robocontrast_ros/config/policies/{cls.oracle}.yaml")
        parameters = load_record(TabletopOracleParameters, file)
        task, handling = cls.task.from_file(resolve_uri(parameters.task)), parameters.handling
        longer = {name: task.control_rate / RATE * getattr(handling, name) for name in OF_A_STEP}
        policy = cls(replace(parameters, handling=replace(handling, **longer)), task)
        policy.runs = path.parent / "runs"
        return policy

    def describe(self):
        return replace(super().describe(), privileged=False, rate=RATE)

    def reset(self, instruction, seed):
        super().reset(instruction, seed)
        *_, run = sorted(self.runs.glob("*"))
        *_, set_up = (event for event in read_journal(run / "journal.jsonl").events if isinstance(event, SetUp))
        self._scene: Scene = set_up.after
        self._held: tuple[float, ...] | None = None
        (self.runs.parent / "put_down").unlink(missing_ok=True)

    def act(self, observation):
        if self._skill is not None and self._skill.intent is not None:
            self._follow(self._skill, observation.tool_pose)
        return super().act(replace(observation, scene=self._scene))

    def _follow(self, handler, tool):
        """Move in the scene what the hand has moved."""
        phase = handler.intent.phase
        if isinstance(handler, JointHandler):
            return self._follow_handle(handler, tool)
        if phase is Phase.FETCH:
            return None
        name = handler._target
        pose = self._scene[name].pose
        if phase is Phase.PLACE:
            self._held = self._held or (*(a - b for a, b in zip(pose.position, tool.position, strict=True)),)
            pose = Pose(tuple(a + b for a, b in zip(tool.position, self._held, strict=True)), pose.orientation)
        else:
            pose = handler._plan.target
            (self.runs.parent / "put_down").touch()
        self._scene = self._scene.moved(name, pose)
        return None

    def _follow_handle(self, handler, tool):
        way = handler._way
        if handler.intent.phase is JointPhase.CLOSE:
            self._held, self._began = tool.position, position_in(self._scene, way.part, way.joint)
        elif handler.intent.phase is JointPhase.MOVE:
            first, farther = (np.array(way.tool(position).position) for position in (0.0, 1.0))
            way_along = (np.array(tool.position) - self._held) @ (farther - first)
            place = part_pose(way.whole, way.joint, self._began + float(way_along))
            self._scene = self._scene.moved(way.part, place)
        elif handler.intent.phase is JointPhase.DONE:
            (self.runs.parent / "put_down").touch()


class ToldOracle(Told, TabletopOracle):
    """The tabletop's oracle."""

    task, oracle = Tabletop, "tabletop_oracle"


class ToldKitchenOracle(Told, KitchenOracle):
    """The kitchen's oracle; drawers alone of what moves by a handle."""

    task, oracle = Kitchen, "kitchen_oracle"
