"""Connection of a rollout to a policy server of the same machine, over a local socket.

A ROS service in Python costs some 0.5 ms before it has carried anything (benchmark/policy_server.py). This connection
carries the same observation as pixels and a few numbers from thread to thread. It is kept beside the service because,
with a policy server in its own process, a control step takes a seventh more processor time without it
(benchmark/README.md). All other clients call the service, and the same policy answers them.

A message is two lengths (little-endian, 32 bits each), that many bytes of msgpack, and that many of pixels or float64.
The socket has a name and no file (Linux's abstract namespace): it ends with its process, and other machines, network
namespaces and users cannot reach it.
"""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import select
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

PREFIX = "robocontrast-line-4-"
"""Prefix of every server's name; its number is raised if the messages change."""

_LENGTHS = struct.Struct("<II")
_CREDENTIALS = struct.Struct("3i")
_BUFFER = 1 << 20

_in_process: dict[str, Callable[[Observation], Answer]] = {}
"""Name of each server in this process -> the function that answers."""


class ConnectionLost(PolicyFault):
    """The server cannot be reached, or does not answer."""

    def __init__(self, detail: str) -> None:
        """Take the reason; the fault is POLICY_SERVER_LOST."""
        super().__init__(Fault.POLICY_SERVER_LOST, detail)


class LocalServer:
    """The policy server's end: answers every client, each on a thread of its own."""

    def __init__(self, act: Callable[[Observation], Answer]) -> None:
        """Listen, on Linux.

        Args:
            act: answers an observation, or raises PolicyFault.

        Attributes:
            name: the name that a client connects to; empty if the system is not Linux.
        """
        self.name = ""
        self._act = act
        self._connections: set[socket.socket] = set()
        if sys.platform != "linux":
            return
        self.name = PREFIX + secrets.token_hex(16)
        _in_process[self.name] = act
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(_address(self.name))
        self._listening.listen()
        threading.Thread(target=self._listen, name="local server", daemon=True).start()

    def close(self) -> None:
        """Close the connections to all clients."""
        if not self.name:
            return
        _in_process.pop(self.name, None)
        for end in (self._listening, *tuple(self._connections)):
            _shut(end)

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                if _user_of(connection) != os.getuid():
                    connection.close()
                    continue
                self._connections.add(connection)
                threading.Thread(target=self._serve, args=(connection,), name="local client", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with contextlib.suppress(ConnectionLost, OSError):
                while True:
                    request, pixels = _receive(connection)
                    reply, actions = self._answer(_observation(request, pixels))
                    _send(connection, {"number": request["number"], **reply}, [actions])
        finally:
            self._connections.discard(connection)
            connection.close()

    def _answer(self, observation: Observation) -> tuple[dict[str, Any], NDArray[np.float64]]:
        try:
            answer = self._act(observation)
        except PolicyFault as error:
            return {"fault": int(error.fault), "detail": error.detail}, np.empty(0)
        reply = {
            "fault": int(Fault.NONE),
            "shape": answer.actions.shape,
            "latency": answer.latency,
            "instruction": answer.observed.instruction,
            "told": answer.observed.told,
            "digest": answer.observed.image_digest,
            "segments": answer.observed.segments_digest,
        }
        return reply, np.ascontiguousarray(answer.actions, dtype="<f8")


def connect(name: str, timeout: float) -> LocalClient | InProcessClient:
    """Return a client of a local server; ``timeout`` [s] is the limit of every answer that comes over the socket.

    Raises:
        ConnectionLost: there is no such server on this machine.
    """
    return InProcessClient(name, _in_process[name]) if name in _in_process else LocalClient(name, timeout)


class InProcessClient:
    """A client in the policy server's own process: it calls the policy and sends nothing."""

    def __init__(self, name: str, act: Callable[[Observation], Answer]) -> None:
        """Take the server's name, and the function that answers."""
        self._name, self._act = name, act
        self._answer: Answer | PolicyFault | None = None
        self._number = 0

    def is_connected_to(self, name: str) -> bool:
        """Return whether this is a client of that server, and the server is not closed."""
        return self._name == name and name in _in_process

    def ask(self, observation: Observation) -> int:
        """Call the policy and wait for it; return the number of the request."""
        self._number += 1
        try:
            self._answer = self._act(observation)
        except PolicyFault as error:
            self._answer = error
        return self._number

    def arrived(self, timeout: float) -> bool:
        """Return true: ``ask`` has waited for the policy."""
        return True

    def answer(self, number: int) -> Answer:
        """Return the answer to the last request.

        Raises:
            PolicyFault: the policy failed.
        """
        if isinstance(self._answer, PolicyFault):
            raise self._answer
        assert self._answer is not None and number == self._number
        return self._answer

    def close(self) -> None:
        """Do nothing: there is no socket."""


class LocalClient:
    """A client over the socket: sends an observation, and takes the answer later."""

    def __init__(self, name: str, timeout: float) -> None:
        """Connect to the server of a name; ``timeout`` [s] is the limit of every answer.

        Raises:
            ConnectionLost: there is no such server on this machine.
        """
        if not name.startswith(PREFIX):
            raise ConnectionLost(f"'{name}' is not a local policy server of this version")
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # The kernel keeps these limits; Python's own timeout costs a poll() for each call.
        for limit in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._connection.setsockopt(socket.SOL_SOCKET, limit, _time_value(timeout))
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        with self._lost_on_error():
            self._connection.connect(_address(name))
        self._name, self._timeout, self._number = name, timeout, 0

    def is_connected_to(self, name: str) -> bool:
        """Return whether this is a client of that server, and not closed."""
        return self._name == name and self._connection.fileno() >= 0

    def ask(self, observation: Observation) -> int:
        """Send an observation without ground truth; return the number of the request.

        Raises:
            ConnectionLost: the server did not take it in time; the connection is closed.
        """
        self._number += 1
        request = {
            "number": self._number,
            "stamp": observation.stamp,
            "joints": observation.joint_names,
            "positions": observation.joint_positions,
            "pose": (observation.tool_pose.position, observation.tool_pose.orientation),
            "gripper": (observation.gripper_width, observation.gripper_closed),
            "images": [(name, image.shape) for name, image in observation.images.items()],
        }
        with self._lost_on_error():
            _send(self._connection, request, [np.ascontiguousarray(i) for i in observation.images.values()])
        return self._number

    def arrived(self, timeout: float) -> bool:
        """Wait up to a time [s], and return whether an answer has begun to come, or the server is gone."""
        return bool(select.select([self._connection], [], [], timeout)[0])

    def answer(self, number: int) -> Answer:
        """Wait for the answer to a request; late answers to earlier requests are dropped.

        Raises:
            PolicyFault: the policy failed.
            ConnectionLost: no answer came in time, or the server is gone; the connection is closed.
        """
        with self._lost_on_error():
            reply, body = _receive(self._connection)
            while reply["number"] < number:
                reply, body = _receive(self._connection)
        fault = Fault(reply["fault"])
        if fault is not Fault.NONE:
            raise PolicyFault(fault, reply["detail"])
        actions = body.view("<f8").reshape(reply["shape"])
        observed = Observed(reply["instruction"], reply["digest"], reply["told"], reply["segments"])
        return Answer(actions, reply["latency"], observed)

    def close(self) -> None:
        """Close the connection."""
        _shut(self._connection)

    @contextlib.contextmanager
    def _lost_on_error(self):
        try:
            yield
        except BlockingIOError:
            self.close()
            raise ConnectionLost(f"no answer within {self._timeout:g} s") from None
        except OSError as error:
            self.close()
            raise ConnectionLost(str(error)) from None
        except ConnectionLost:
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


def _shut(end: socket.socket) -> None:
    # close() alone would not wake a thread that waits in accept() or recv().
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


def _observation(request: dict[str, Any], pixels: NDArray[np.uint8]) -> Observation:
    images, begin = {}, 0
    for name, shape in request["images"]:
        end = begin + math.prod(shape)
        images[name] = pixels[begin:end].reshape(shape)
        begin = end
    position, orientation = request["pose"]
    return Observation(
        stamp=request["stamp"],
        images=images,
        joint_names=tuple(request["joints"]),
        joint_positions=tuple(request["positions"]),
        tool_pose=Pose(tuple(position), tuple(orientation)),
        gripper_width=request["gripper"][0],
        gripper_closed=request["gripper"][1],
    )


def _send(connection: socket.socket, fields: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> None:
    text = msgpack.packb(fields)
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
        raise ConnectionLost(f"the message cannot be read: {error}") from None


def _fill(connection: socket.socket, buffers: Sequence[Any]) -> None:
    rest = [memoryview(buffer) for buffer in buffers if len(buffer)]
    while rest:
        count = connection.recvmsg_into(rest, 0, socket.MSG_WAITALL)[0]
        if not count:
            raise ConnectionLost("the other side closed the connection")
        while rest and count >= len(rest[0]):
            count -= len(rest.pop(0))
        if count:
            rest[0] = rest[0][count:]
