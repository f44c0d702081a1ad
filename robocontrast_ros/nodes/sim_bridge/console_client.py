"""The console of the person at the robot, for a scene backend."""

from __future__ import annotations

from rclpy.node import Node

from robocontrast_ros.console.questions import OperatorAnswer, SetUpQuestion
from robocontrast_ros.domain import Fault, Scene
from robocontrast_ros.messages.decoding import scene_from_msg
from robocontrast_ros.nodes.bench.asking import checked
from robocontrast_ros.nodes.conversions.domain import fault_from_msg, move_to_msg, scene_to_msg
from robocontrast_ros.nodes.runtime.channel import call_while_there, fault_without_answer, wait_for
from robocontrast_ros.srv import AskMoves, ReadTable
from robocontrast_ros.strategies.effort import Tolerance
from robocontrast_ros.worlds.backends import BrokenOff, TableReading

ANSWER_TIME = 30 * 86400.0
"""Time limit of a person's answer [s]."""

PICTURE = 20.0
"""Time limit of reading a picture [s]."""


class ConsoleClient:
    """A ``worlds.backends.ConsolePort``. Its methods block."""

    def __init__(self, node: Node, operator: str, timeout: float) -> None:
        """Wait for the console.

        Args:
            node: the node of the clients, whose answers another thread takes.
            operator: name of the console's node.
            timeout: time limit of its start [s].

        Raises:
            BenchFault: the console does not come up.
        """
        self._ask = node.create_client(AskMoves, f"{operator}/ask_moves")
        self._read = node.create_client(ReadTable, f"{operator}/read_table")
        with fault_without_answer(Fault.JUDGE_LOST):
            wait_for(self._ask, timeout)

    def ask_moves(self, question: SetUpQuestion) -> OperatorAnswer:
        """Return the person's answer, however long it takes."""
        request = AskMoves.Request(
            target=scene_to_msg(question.target),
            present=scene_to_msg(question.present),
            moves=[move_to_msg(move) for move in question.moves],
            problems=list(question.problems),
            doubts=question.doubts,
            bring_robot=question.bring_robot,
        )
        with fault_without_answer(Fault.JUDGE_LOST):
            response = call_while_there(self._ask, request, ANSWER_TIME)
        (fault, detail), moved = fault_from_msg(response.fault), tuple(response.moved)
        if fault is not Fault.NONE:
            raise BrokenOff(fault, detail, moved)
        return OperatorAnswer("done", moved=moved, overruled=response.overruled, seconds=response.seconds)

    def read_table(self, expected: Scene) -> TableReading:
        """Return the camera's reading of the table."""
        with fault_without_answer(Fault.SENSOR_LOST):
            response = checked(
                call_while_there(self._read, ReadTable.Request(expected=scene_to_msg(expected)), PICTURE)
            )
        scene = scene_from_msg(response.scene)
        spread = zip(scene.names, response.position_deviations, response.yaw_deviations, strict=True)
        deviations = {name: Tolerance(position, yaw) for name, position, yaw in spread if position == position}
        return TableReading(scene, dict(zip(response.unsure, response.reasons, strict=True)), deviations)
