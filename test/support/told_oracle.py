"""An oracle for a session whose robot is shown no scene: it knows where things stand from the journal's last set-up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from robocontrast_ros.configuration import load_record, resolve_uri
from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.policies.baselines.tabletop.handling import Phase
from robocontrast_ros.policies.baselines.tabletop.oracle import TabletopOracle, TabletopOracleParameters
from robocontrast_ros.runs.events import SetUp
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.tasks.tabletop import Tabletop

ORACLE = resolve_uri("package://robocontrast_ros/config/policies/tabletop_oracle.yaml")


class ToldOracle(TabletopOracle):
    """Takes its target to be in the hand from when it closes to when it opens; its file is beside the folder runs.

    When it has put the target down there is a file ``put_down`` beside its own.
    """

    runs: Path
    describe_file = None  # its own file has no parameters of an oracle

    @classmethod
    def from_file(cls, path: Path) -> ToldOracle:
        parameters = load_record(TabletopOracleParameters, ORACLE)
        policy = cls(parameters, Tabletop.from_file(resolve_uri(parameters.task)))
        policy.runs = path.parent / "runs"
        return policy

    def describe(self):
        return replace(super().describe(), privileged=False)

    def reset(self, instruction, seed):
        super().reset(instruction, seed)
        *_, run = sorted(self.runs.glob("*"))
        *_, set_up = (event for event in read_journal(run / "journal.jsonl").events if isinstance(event, SetUp))
        self._scene: Scene = set_up.after
        self._held: tuple[float, ...] | None = None
        (self.runs.parent / "put_down").unlink(missing_ok=True)

    def act(self, observation):
        tool, handler = observation.tool_pose, self._skill
        intent = handler.intent if handler is not None else None
        if intent is not None and intent.phase is not Phase.FETCH:
            name = handler._target
            pose = self._scene[name].pose
            if intent.phase is Phase.PLACE:
                self._held = self._held or (*(a - b for a, b in zip(pose.position, tool.position, strict=True)),)
                pose = Pose(tuple(a + b for a, b in zip(tool.position, self._held, strict=True)), pose.orientation)
            else:
                pose = handler._plan.target
                (self.runs.parent / "put_down").touch()
            self._scene = self._scene.moved(name, pose)
        return super().act(replace(observation, scene=self._scene))
