"""A server that speaks openpi's protocol, as a process; written from openpi's own, not with our code.

Run with ``python openpi_server.py``; its one line of output is its port. What it does wrong, an observation's prompt
or the URL's path says, so that one process serves many tests.
"""

from __future__ import annotations

import argparse
import hashlib
import http
import itertools
import json
import os
import pickle
import signal
import sys
import threading

import msgpack
import numpy as np
from websockets.sync.server import serve

CHUNK, SIZE = 4, 2
SLOW = 2.0
"""How long the slow answer takes [s]; the late one comes when something else is asked for."""
KEY = "sesame"

METADATA = {"action_dim": np.int64(SIZE), "action_horizon": CHUNK, "checkpoint": "rule"}
OF_LEROBOT = {
    "action_size": SIZE,
    "inputs": {"observation.images.board": [3, 96, 96], "observation.state": [2]},
}

ACT = {
    "action_size": 8,
    "inputs": {
        "observation.images.front": [3, 240, 320],
        "observation.images.wrist": [3, 240, 320],
        "observation.state": [8],
    },
}
"""What an ACT checkpoint of lerobot says of an arm with a gripper."""

DROID_KEYS = {
    "observation/exterior_image_1_left": ((224, 224, 3), "u1"),
    "observation/wrist_image_left": ((224, 224, 3), "u1"),
    "observation/joint_position": ((7,), "f4"),
    "observation/gripper_position": ((1,), "f4"),
}
"""What openpi's input transform for DROID reads, besides the prompt."""

release = threading.Event()
else_asked = threading.Event()


def droid(observation):
    """Return velocities that bring each joint to 0, as shares of 0.2 rad a step; the gripper stays as it is."""
    wrong = [
        key
        for key, (shape, kind) in DROID_KEYS.items()
        if observation[key].shape != shape or observation[key].dtype != np.dtype(kind)
    ]
    if wrong or observation.keys() != {*DROID_KEYS, "prompt"}:
        raise ValueError(f"not as DROID's: {wrong}, {sorted(observation)}")
    velocities = np.clip(-observation["observation/joint_position"] / 0.2, -1.0, 1.0)
    return np.tile(np.concatenate([velocities, observation["observation/gripper_position"]]), (15, 1))


def act(observation):
    """Return the state, which is where joints and gripper are."""
    return np.tile(observation["observation.state"], (100, 1))


def rule(observation):
    """Return the actions for an observation: a draw that its bytes are the seed of."""
    digest = hashlib.sha256(msgpack.packb(observation, default=pack)).digest()
    rng = np.random.default_rng(int.from_bytes(digest, "big"))
    return rng.uniform(-0.02, 0.02, (CHUNK, SIZE)).astype(np.float32)


answering = [rule]
"""What answers."""


def pack(value):
    if isinstance(value, np.ndarray):
        return {
            b"__ndarray__": True,
            b"data": value.tobytes(),
            b"dtype": value.dtype.str,
            b"shape": value.shape,
        }
    return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}


def unpack(value):
    if b"__ndarray__" in value:
        return np.ndarray(value[b"shape"], np.dtype(value[b"dtype"]), value[b"data"])
    return value


RIGHT = np.arange(CHUNK * SIZE, dtype="<f4").reshape(CHUNK, SIZE) / 100.0
"""Actions that each of the dialects writes in its own way."""

OPENPI = {"__ndarray__": True, "data": RIGHT.tobytes(), "dtype": "<f4", "shape": [CHUNK, SIZE]}
MSGPACK_NUMPY = {"nd": True, "type": "<f4", "kind": b"", "shape": [CHUNK, SIZE], "data": RIGHT.tobytes()}
"""As the package msgpack-numpy 0.4.8 writes them, but with keys of text."""


def bytes_as_keys(value):
    return {key.encode(): item for key, item in value.items()}


DIALECTS = {
    "openpi, text keys": OPENPI,
    "msgpack-numpy": bytes_as_keys(MSGPACK_NUMPY),
    "msgpack-numpy, text keys": MSGPACK_NUMPY,
    "vLLM": MSGPACK_NUMPY | {"kind": "f"},
    "lists": RIGHT.tolist(),
    "lists of arrays": list(RIGHT),
    "lists of numbers": [
        [bytes_as_keys({"nd": False, "type": "<f4", "data": number.tobytes()}) for number in row] for row in RIGHT
    ],
    "a batch of one": RIGHT[None],
}


class Bomb:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return os._exit, (3,)


ANSWERS = {
    "wrong shape": lambda: {"actions": np.zeros((CHUNK, SIZE + 1), np.float32)},
    "too long": lambda: {"actions": np.zeros((100, SIZE), np.float32)},
    "not finite": lambda: {"actions": np.full((CHUNK, SIZE), np.nan)},
    "missing key": lambda: {"motions": 1},
    "no numbers": lambda: {"actions": "left"},
    "no mapping": lambda: [1, 2],
    "objects": lambda: {"actions": {b"__ndarray__": True, b"data": b"12345678", b"dtype": "|O", b"shape": [1]}},
    "pickled": lambda: {
        "actions": bytes_as_keys(MSGPACK_NUMPY | {"type": [["", "|O"]], "kind": b"O", "data": pickle.dumps(Bomb())})
    },
    "records": lambda: {"actions": bytes_as_keys(MSGPACK_NUMPY | {"type": [["x", "<f4"]], "kind": b"V"})},
    "complex": lambda: {"actions": np.ones((CHUNK, SIZE)).tolist() + [{b"complex": True, b"data": "1j"}] * SIZE},
    "texts": lambda: {"actions": [["0.1"] * SIZE] * CHUNK},
    "times": lambda: {"actions": np.zeros((CHUNK, SIZE), "datetime64[s]").astype("<M8[s]")},
    "unknown numbers": lambda: {"actions": OPENPI | {"dtype": "bfloat16"}},
    "pointers": lambda: {"actions": OPENPI | {"dtype": "T", "shape": [2]}},
    "batch": lambda: {"actions": np.zeros((2, CHUNK, SIZE))},
    "many lists": lambda: {"actions": [[[]] * 1000] * 200},
    "one long list": lambda: {"actions": [0] * 200_000},
    "deep": lambda: b"\x91" * 100_000,
    "too large": lambda: {"actions": np.zeros((1_500_000, SIZE))},
    "short array": lambda: {"actions": {b"__ndarray__": True, b"data": b"1234", b"dtype": "<f8", b"shape": [4, 2]}},
}


def handle(connection, left):
    path = connection.request.path
    if path == "/silent":
        release.wait()
        return
    if path == "/text":
        connection.send("Traceback:\n  somewhere\nRuntimeError: no checkpoint\n")
        return
    if path == "/list":
        connection.send(msgpack.packb([1, 2]))
        return
    connection.send(msgpack.packb(METADATA, default=pack))
    seed = {}
    for data in connection:
        observation = msgpack.unpackb(data, object_hook=unpack)
        prompt = observation["prompt"] if "prompt" in observation else observation["task"]
        if "endpoint" in observation or "reset" in observation:
            seed = {"seed": observation["seed"]}
            connection.send(msgpack.packb({}))
        elif prompt in ANSWERS:
            answer = ANSWERS[prompt]()
            connection.send(answer if isinstance(answer, bytes) else msgpack.packb(answer, default=pack))
        elif prompt in DIALECTS:
            connection.send(msgpack.packb({"actions": DIALECTS[prompt]}, default=pack))
        elif prompt == "garbage":
            connection.send(bytes(range(255, 0, -1)))
        elif prompt == "no websocket":
            connection.socket.sendall(b"\xff" * 64)
            release.wait(5.0)
        elif prompt == "raise":
            connection.send('Traceback (most recent call last):\n  File "x.py"\nValueError: I cannot see\n')
            return
        elif prompt == "hang up":
            return
        elif prompt == "die":
            os._exit(1)
        else:
            if next(left, None) is None:
                os._exit(1)
            if prompt == "late":
                else_asked.clear()
                else_asked.wait()
            else_asked.set()
            release.wait(SLOW if prompt == "slow" else 0.0)
            actions = answering[0]({**observation, **seed})
            answer = msgpack.packb({"actions": actions}, default=pack)
            connection.send(answer)
            if prompt == "twice":
                connection.send(answer)
            if prompt == "answer and freeze":
                os.kill(os.getpid(), signal.SIGSTOP)


def admit(connection, request):
    wanted = f"Api-Key {KEY}"
    if request.path == "/locked" and request.headers.get("Authorization") != wanted:
        return connection.respond(http.HTTPStatus.UNAUTHORIZED, "no\n")
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--answers", type=int, help="after which it dies")
    parser.add_argument("--lerobot", action="store_true", help="stand in for lerobot_server.py")
    parser.add_argument("--droid", action="store_true", help="answer as a policy for DROID")
    parser.add_argument("--act", action="store_true", help="answer as an ACT checkpoint of an arm with a gripper")
    arguments = parser.parse_args()
    if arguments.droid:
        METADATA.clear()
        answering[0] = droid
    if arguments.act:
        OF_LEROBOT.update(ACT)
        answering[0] = act
    if arguments.lerobot:
        METADATA.clear()
        METADATA.update(OF_LEROBOT)
        threading.Thread(target=lambda: os._exit(len(sys.stdin.read())), daemon=True).start()
    left = itertools.count() if arguments.answers is None else iter(range(arguments.answers))
    limits = {"compression": None, "max_size": None, "process_request": admit}
    with serve(lambda connection: handle(connection, left), "127.0.0.1", arguments.port, **limits) as server:
        port = server.socket.getsockname()[1]
        print(json.dumps({"port": port}) if arguments.lerobot else port, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
