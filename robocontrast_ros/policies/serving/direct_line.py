"""Observations to a policy server on the same machine, and its answers back, over a socket of that machine.

A ROS service in Python costs some 0.5 ms before it has carried anything (benchmark/policy_server.py). This line carries
the same observation as pixels and a few numbers from thread to thread. It is an addition for who is near: who is not
asks the service, and is answered by the same policy.

A message is two lengths (little-endian, 32 bits each), that many bytes of msgpack, and that many of pixels or
float64.
The socket has a name and no file (Linux's abstract namespace): it ends with its process, and is out of reach for other
machines, other network namespaces and other users.
"""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import socket
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Fault, Observed, Pose
from robocontrast_ros.policies.protocol import Observation, PolicyFault
from robocontrast_ros.policies.serving.runner import Answer

PREFIX = "robocontrast-line-1-"
"""Begins every name; its number is raised when what is said on the line changes."""

_LENGTHS = struct.Struct("<II")
_CREDENTIALS = struct.Struct("3i")
_BUFFER = 1 << 20


_here: dict[str, Callable[[Observation], Answer]] = {}
"""Name of each line that is served in this process -> what answers."""


class LineLost(Exception):
    """The other end is not there, or does not answer."""


class DirectLine:
    """The policy server's end: answers every caller, each on a thread of its own."""

    def __init__(self, act: Callable[[Observation], Answer]) -> None:
        """Listen, on Linux.

        Args:
            act: answers an observation, or raises PolicyFault.

        Attributes:
            name: what a caller needs; empty where there is no line.
        """
        self.name = ""
        self._act = act
        self._connections: set[socket.socket] = set()
        if sys.platform != "linux":
            return
        self.name = PREFIX + secrets.token_hex(16)
        _here[self.name] = act
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(_address(self.name))
        self._listening.listen()
        threading.Thread(target=self._listen, name="direct line", daemon=True).start()

    def close(self) -> None:
        """Hang up on everybody."""
        if not self.name:
            return
        _here.pop(self.name, None)
        for end in (self._listening, *tuple(self._connections)):
            _hang_up(end)

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                if _user_of(connection) != os.getuid():
                    connection.close()
                    continue
                self._connections.add(connection)
                threading.Thread(target=self._serve, args=(connection,), name="caller", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with contextlib.suppress(LineLost, OSError):
                while True:
                    asked, pixels = _receive(connection)
                    said, actions = self._answer(_observation(asked, pixels))
                    _send(connection, {"number": asked["number"], **said}, [actions])
        finally:
            self._connections.discard(connection)
            connection.close()

    def _answer(self, observation: Observation) -> tuple[dict[str, Any], NDArray[np.float64]]:
        try:
            answer = self._act(observation)
        except PolicyFault as error:
            return {"fault": int(error.fault), "detail": error.detail}, np.empty(0)
        said = {
            "fault": int(Fault.NONE),
            "shape": answer.actions.shape,
            "latency": answer.latency,
            "instruction": answer.observed.instruction,
            "digest": answer.observed.image_digest,
        }
        return said, np.ascontiguousarray(answer.actions, dtype="<f8")


def call(name: str, timeout: float) -> Caller | CallerHere:
    """Return the other end of a line; ``timeout`` [s] is the limit of every answer that comes over the socket.

    Raises:
        LineLost: no such server is in reach.
    """
    return CallerHere(name, _here[name]) if name in _here else Caller(name, timeout)


class CallerHere:
    """The other end, in the policy server's own process: the policy is called, and nothing is sent."""

    def __init__(self, name: str, act: Callable[[Observation], Answer]) -> None:
        """Take a name, and what answers there."""
        self._name, self._act = name, act
        self._answer: Answer | PolicyFault | None = None
        self._number = 0

    def serves(self, name: str) -> bool:
        """Return whether this is that server, which still serves."""
        return self._name == name and name in _here

    def ask(self, observation: Observation) -> int:
        """Ask and wait, as long as the policy may take; return the number of the question."""
        self._number += 1
        try:
            self._answer = self._act(observation)
        except PolicyFault as error:
            self._answer = error
        return self._number

    def answer(self, number: int) -> Answer:
        """Return the answer to the last question.

        Raises:
            PolicyFault: the policy failed.
        """
        if isinstance(self._answer, PolicyFault):
            raise self._answer
        assert self._answer is not None and number == self._number
        return self._answer

    def close(self) -> None:
        """Nothing is to be freed."""


class Caller:
    """The other end: asks, does something else, and takes the answer."""

    def __init__(self, name: str, timeout: float) -> None:
        """Call a policy server that has told its name; ``timeout`` [s] is the limit of every answer.

        Raises:
            LineLost: no such server is in reach.
        """
        if not name.startswith(PREFIX):
            raise LineLost(f"'{name}' is not a line of this version")
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Limits that the kernel keeps: Python's own cost a call to poll() for each call.
        for limit in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._connection.setsockopt(socket.SOL_SOCKET, limit, _time_value(timeout))
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        with self._lost_on_error():
            self._connection.connect(_address(name))
        self._name, self._timeout, self._number = name, timeout, 0

    def serves(self, name: str) -> bool:
        """Return whether this is a connection to that server, and not closed."""
        return self._name == name and self._connection.fileno() >= 0

    def ask(self, observation: Observation) -> int:
        """Send an observation without ground truth; return the number of the question.

        Raises:
            LineLost: nobody took it in time; the line is closed.
        """
        self._number += 1
        said = {
            "number": self._number,
            "stamp": observation.stamp,
            "joints": observation.joint_names,
            "positions": observation.joint_positions,
            "pose": (observation.tool_pose.position, observation.tool_pose.orientation),
            "images": [(name, image.shape) for name, image in observation.images.items()],
        }
        with self._lost_on_error():
            _send(self._connection, said, [np.ascontiguousarray(i) for i in observation.images.values()])
        return self._number

    def answer(self, number: int) -> Answer:
        """Wait for the answer to a question; answers to earlier ones, which nobody waited for, are dropped.

        Raises:
            PolicyFault: the policy failed.
            LineLost: no answer came in time, or the server is gone; the line is closed.
        """
        with self._lost_on_error():
            said, body = _receive(self._connection)
            while said["number"] < number:
                said, body = _receive(self._connection)
        fault = Fault(said["fault"])
        if fault is not Fault.NONE:
            raise PolicyFault(fault, said["detail"])
        actions = body.view("<f8").reshape(said["shape"])
        return Answer(actions, said["latency"], Observed(said["instruction"], said["digest"]))

    def close(self) -> None:
        """Hang up."""
        _hang_up(self._connection)

    @contextlib.contextmanager
    def _lost_on_error(self):
        try:
            yield
        except BlockingIOError:
            self.close()
            raise LineLost(f"no answer within {self._timeout:g} s") from None
        except OSError as error:
            self.close()
            raise LineLost(str(error)) from None
        except LineLost:
            self.close()
            raise


def _address(name: str) -> str:
    return "\0" + name


def _time_value(seconds: float) -> bytes:
    whole = int(seconds)
    return struct.pack("ll", whole, max(int(1e6 * (seconds - whole)), 0 if whole else 1))


def _user_of(connection: socket.socket) -> int:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return _CREDENTIALS.unpack(credentials)[1]


def _hang_up(end: socket.socket) -> None:
    # close() alone would not wake a thread that waits in accept() or recv().
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


def _observation(said: dict[str, Any], pixels: NDArray[np.uint8]) -> Observation:
    images, begin = {}, 0
    for name, shape in said["images"]:
        end = begin + math.prod(shape)
        images[name] = pixels[begin:end].reshape(shape)
        begin = end
    position, orientation = said["pose"]
    return Observation(
        stamp=said["stamp"],
        images=images,
        joint_names=tuple(said["joints"]),
        joint_positions=tuple(said["positions"]),
        tool_pose=Pose(tuple(position), tuple(orientation)),
    )


def _send(connection: socket.socket, said: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> None:
    text = msgpack.packb(said)
    bodies = [memoryview(array).cast("B") for array in arrays if array.size]
    parts = [_LENGTHS.pack(len(text), sum(map(len, bodies))) + text, *bodies]
    sent = connection.sendmsg(parts)
    for part in parts:
        if sent < len(part):
            connection.sendall(memoryview(part)[sent:])
        sent = max(sent - len(part), 0)


def _receive(connection: socket.socket) -> tuple[dict[str, Any], NDArray[np.uint8]]:
    lengths = bytearray(_LENGTHS.size)
    _fill(connection, [lengths])
    size_of_text, size_of_body = _LENGTHS.unpack(lengths)
    # Memory of its own for every message: a policy may keep its images.
    text, body = bytearray(size_of_text), np.empty(size_of_body, np.uint8)
    _fill(connection, [text, body])
    try:
        return msgpack.unpackb(text), body
    except ValueError as error:
        raise LineLost(f"the other end is not understood: {error}") from None


def _fill(connection: socket.socket, buffers: Sequence[Any]) -> None:
    rest = [memoryview(buffer) for buffer in buffers if len(buffer)]
    while rest:
        count = connection.recvmsg_into(rest, 0, socket.MSG_WAITALL)[0]
        if not count:
            raise LineLost("the other end hung up")
        while rest and count >= len(rest[0]):
            count -= len(rest.pop(0))
        if count:
            rest[0] = rest[0][count:]
