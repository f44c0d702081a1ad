"""Sessions of robocontrast_ros as environments of lerobot-eval (docs/lerobot.md of that package).

``robocontrast lerobot-env SESSION`` has robot and world, in an environment of its own; this is its client.
"""

from __future__ import annotations

import atexit
import json
import logging
import shlex
import socket
import subprocess
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from lerobot.configs import FeatureType, PolicyFeature
from lerobot.envs.configs import EnvConfig
from lerobot.envs.utils import _LazyAsyncVectorEnv, freeze_after_episode_end

VERSION = 1
"""Of the messages."""


class Connection:
    """A connection to a server, which has one world for it."""

    def __init__(self, address: str) -> None:
        """Connect to ``HOST:PORT``."""
        host, _, port = address.rpartition(":")
        try:
            self._socket = socket.create_connection((host, int(port)))
        except (OSError, ValueError) as error:
            hint = "start it with `robocontrast lerobot-env SESSION`"
            raise RuntimeError(f"robocontrast: no server at '{address}' ({error}); {hint}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")

    def ask(self, request: str, **content: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Send a request; return the answer and its images, uint8 arrays of shape (height, width, 3).

        Raises:
            RuntimeError: the server refuses it, or is gone.
        """
        try:
            self._socket.sendall(json.dumps({"request": request, **content}).encode() + b"\n")
            line = self._file.readline()
            answer = json.loads(line) if line.endswith(b"\n") else None
            data = self._file.read(answer["bytes"]) if answer else b""
        except OSError:
            answer, data = None, b""
        if answer is None or len(data) != answer["bytes"]:
            raise RuntimeError("robocontrast: the server has ended; its output says why")
        if "error" in answer:
            raise RuntimeError(f"robocontrast: {answer['error']}")
        images, begin = {}, 0
        for name, shape in answer["images"].items():
            size = int(np.prod(shape))
            images[name] = np.frombuffer(data, np.uint8, size, begin).reshape(shape).copy()
            begin += size
        return answer, images

    def close(self) -> None:
        """Free the world."""
        self._file.close()
        self._socket.close()


class RoboContrastEnv(gym.Env):
    """One case of a session, ``base`` or a perturbation: the seed chooses the test instance."""

    def __init__(self, address: str, case: int) -> None:
        """Ask the server what there is; a world is opened at the first reset."""
        self._address, self._case, self._seed = address, case, 0
        self._connection: Connection | None = Connection(address)
        about, _ = self._connection.ask("describe", version=VERSION)
        self.task, self.task_description = about["cases"][case], ""
        self._max_episode_steps = about["max_steps"]
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": round(about["fps"])}
        self.render_mode = "rgb_array"
        self._shown = np.zeros((64, 64, 3), np.uint8)

        def numbers(size: int) -> gym.spaces.Box:
            return gym.spaces.Box(-np.inf, np.inf, (size,), np.float32)

        spaces: dict[str, gym.Space] = {"agent_pos": numbers(len(about["state"]))}
        if about["tool_pose"]:
            spaces["tool_pose"] = numbers(7)
        if about["cameras"]:
            images = {name: gym.spaces.Box(0, 255, shape, np.uint8) for name, shape in about["cameras"].items()}
            spaces["pixels"] = gym.spaces.Dict(images)
        self.observation_space = gym.spaces.Dict(spaces)
        self.action_space = numbers(about["action_size"])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict, dict]:
        """Begin the episode of a seed; that of the seed before, without one."""
        super().reset(seed=seed)
        self._seed = self._seed if seed is None else int(seed)
        self._connection = self._connection or Connection(self._address)
        answer, images = self._connection.ask("reset", case=self._case, seed=self._seed)
        self.task_description = answer["instruction"]
        return self._observation(answer, images), self._info(answer)

    def step(self, action: np.ndarray) -> tuple[dict, float, bool, bool, dict]:
        """Carry out an action."""
        if self._connection is None:
            raise RuntimeError("robocontrast: the environment is closed; reset it first")
        answer, images = self._connection.ask("step", action=np.asarray(action, np.float64).tolist())
        observation, ended = self._observation(answer, images), (answer["terminated"], answer["truncated"])
        return observation, answer["reward"], *ended, self._info(answer)

    def render(self) -> np.ndarray:
        """Return the last image of the first camera; a black one without a camera."""
        return self._shown

    def close(self) -> None:
        """Free the world."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _observation(self, answer: dict[str, Any], images: dict[str, np.ndarray]) -> dict[str, Any]:
        found: dict[str, Any] = {"agent_pos": np.array(answer["state"], np.float32)}
        if "tool_pose" in answer:
            found["tool_pose"] = np.array(answer["tool_pose"], np.float32)
        if images:
            found["pixels"], self._shown = images, next(iter(images.values()))
        return found

    def _info(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"is_success": answer["is_success"], "instance": answer["instance"], "case": answer["case"]}


def started(command: str, session: str) -> str:
    """Start a server that ends with this process, and return its address."""
    words = [*shlex.split(command), "lerobot-env", session, "--port", "0"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    atexit.register(server.terminate)
    for line in server.stdout:
        print(line, end="", flush=True)
        if line.startswith("listening on "):
            return line.split()[-1]
    raise RuntimeError(f"robocontrast: `{shlex.join(words)}` ended with exit code {server.wait()}")


@EnvConfig.register_subclass("robocontrast")
@dataclass
class RoboContrastConfig(EnvConfig):
    """``--env.type=robocontrast``.

    Attributes:
        task: cases to run, separated by commas; all without it.
        address: ``HOST:PORT`` of a server that runs; empty to start one.
        session: the session to start one for.
        command: the command ``robocontrast`` in its own environment.
    """

    task: str | None = None
    address: str = ""
    session: str = ""
    command: str = "robocontrast"
    fps: int = 10
    features: dict[str, PolicyFeature] = field(default_factory=dict)
    features_map: dict[str, str] = field(default_factory=dict)

    @property
    def gym_kwargs(self) -> dict:
        """Nothing: ``create_envs`` makes the environments."""
        return {}

    def create_envs(self, n_envs: int, use_async_envs: bool = False) -> dict[str, dict[int, gym.vector.VectorEnv]]:
        """Return {case's name: {case: environments}}, in which episode i of every case has one test instance."""
        if bool(self.address) == bool(self.session):
            raise ValueError("robocontrast: give either --env.address or --env.session")
        self.address, self.session = self.address or started(self.command, self.session), ""
        connection = Connection(self.address)
        about, _ = connection.ask("describe", version=VERSION)
        connection.close()
        self._describe(about)
        wanted = [name.strip() for name in self.task.split(",")] if self.task else about["cases"]
        if unknown := sorted(set(wanted) - set(about["cases"])):
            raise ValueError(f"robocontrast: --env.task: no case {unknown[0]}, only {', '.join(about['cases'])}")
        logging.info("robocontrast: %d test instances; more episodes repeat them", about["instances"])
        envs: dict[str, dict[int, gym.vector.VectorEnv]] = {}
        for name in wanted:
            case = about["cases"].index(name)
            makers = [partial(RoboContrastEnv, self.address, case)] * n_envs
            if use_async_envs and n_envs > 1:
                # As lerobot's own: the processes of one case at a time.
                envs[name] = {case: _LazyAsyncVectorEnv(makers)}
            else:
                envs[name] = {case: gym.vector.SyncVectorEnv([freeze_after_episode_end(make) for make in makers])}
        return envs

    def _describe(self, about: dict[str, Any]) -> None:
        """Fill in what policies are made of."""
        state, action = (len(about["state"]),), (about["action_size"],)
        self.fps = round(about["fps"])
        self.features = {
            "action": PolicyFeature(FeatureType.ACTION, action),
            "agent_pos": PolicyFeature(FeatureType.STATE, state),
        }
        self.features_map = {"action": "action", "agent_pos": "observation.state"}
        if about["tool_pose"]:
            self.features["tool_pose"] = PolicyFeature(FeatureType.STATE, (7,))
            self.features_map["tool_pose"] = "observation.tool_pose"
        for name, shape in about["cameras"].items():
            self.features[f"pixels/{name}"] = PolicyFeature(FeatureType.VISUAL, tuple(shape))
            self.features_map[f"pixels/{name}"] = f"observation.images.{name}"
