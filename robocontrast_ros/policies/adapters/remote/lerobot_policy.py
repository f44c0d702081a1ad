"""A lerobot checkpoint, run by lerobot in an environment of its own (docs/remote_policies.md)."""

from __future__ import annotations

import json
import select
import shutil
import subprocess
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, load_record, record, resolve_uri
from robocontrast_ros.domain import Fault
from robocontrast_ros.policies.adapters.packing import InputParameters, check_sizes, state_size
from robocontrast_ros.policies.adapters.remote.openpi_policy import OpenpiParameters, OpenpiPolicy
from robocontrast_ros.policies.adapters.remote.parameters import RemoteParameters
from robocontrast_ros.policies.protocol import PolicyFault

SERVER = Path(__file__).with_name("lerobot_server.py")


@record
class LerobotParameters(RemoteParameters):
    """The file config/policies/lerobot.yaml."""

    python: str = Field(min_length=1, description="Python of lerobot's environment")
    checkpoint: str = Field(
        min_length=1, description="URI of the folder that lerobot saved (config.json, model.safetensors, …)"
    )
    device: str | None = Field(default=None, min_length=1, description="cpu, cuda, …; the checkpoint's if left out")
    start_timeout: float = Field(
        default=120.0, gt=0, le=36000, description="limit of importing lerobot and loading the checkpoint [s]"
    )


class LerobotPolicy(OpenpiPolicy):
    """Starts a process that serves the checkpoint, and is a client of it as of an openpi server."""

    PARAMETERS = LerobotParameters

    def __init__(self, parameters: LerobotParameters, path: Path) -> None:
        """Start the process and compare the checkpoint with the parameter file.

        Raises:
            ConfigurationError: the file does not fit, or the checkpoint cannot be served.
        """
        check_sizes(path, parameters)
        self._process, port = _start(parameters, path)
        # The process must end with this one, even without a call of close.
        self._stop = weakref.finalize(self, _stop, self._process)
        try:
            super().__init__(_as_openpi(parameters, port), path)
            self._check_inputs(path, parameters.input)
        except BaseException:
            self._stop()
            raise

    @classmethod
    def needs(cls, path: Path) -> tuple[str, ...]:
        """Name the environment and the checkpoint."""
        parameters = load_record(LerobotParameters, path)
        return (f"lerobot, run by {parameters.python}", f"checkpoint {parameters.checkpoint}")

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial: lerobot's policy is reset, and torch seeded.

        Raises:
            PolicyFault: the process has ended, or fails.
        """
        status = self._process.poll()
        if status is not None:
            detail = f"lerobot's process terminated with status {status}; the log has its last messages"
            raise PolicyFault(Fault.POLICY_SERVER_LOST, detail)
        super().reset(instruction, seed)

    def close(self) -> None:
        """Close the connection and stop the process."""
        super().close()
        self._stop()

    def _check_inputs(self, path: Path, inputs: InputParameters) -> None:
        wanted: dict[str, list[int]] = self.metadata["inputs"]
        ours: dict[str, list[int] | None] = {
            key: [3, image.height, image.width] if image.height and image.width else None
            for key, image in inputs.images.items()
        }
        for key, state in inputs.state.items():
            size = state_size(state)
            ours[key] = None if size is None else [size]
        if set(ours) != set(wanted):
            cure = "Name the checkpoint's inputs as in its config.json."
            raise ConfigurationError(
                str(path), "input", sorted(ours), f"the checkpoint's inputs {sorted(wanted)}", cure
            )
        for key, shape in ours.items():
            if shape is not None and shape != wanted[key]:
                kind = "images" if key in inputs.images else "state"
                raise ConfigurationError(
                    str(path), f"input.{kind}.{key}", shape, f"the shape {wanted[key]} of the checkpoint"
                )


def _as_openpi(parameters: LerobotParameters, port: int) -> OpenpiParameters:
    common = {name: getattr(parameters, name) for name in RemoteParameters.__dataclass_fields__}
    common["input"] = replace(parameters.input, instruction="task")
    return OpenpiParameters(**common, url=f"ws://127.0.0.1:{port}", reset={"reset": True}, seed="seed")


def _start(parameters: LerobotParameters, path: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Return the process and its port, once it serves."""
    python, folder = _python(parameters, path), resolve_uri(parameters.checkpoint, path.parent)
    if not (folder / "config.json").is_file():
        raise ConfigurationError(
            str(path),
            "checkpoint",
            str(folder),
            "a folder that lerobot saved, with a config.json",
            "Name the folder `pretrained_model` of a training run's checkpoint; nothing is downloaded.",
        )
    # -E and -s: a ROS set-up puts packages of another Python into PYTHONPATH.
    command = [python, "-E", "-s", str(SERVER), str(folder), "--actions", str(parameters.chunk.length)]
    command += ["--device", parameters.device] if parameters.device else []
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        raise _no_python(path, python, str(error)) from None
    try:
        return process, _port(process, parameters, path, python)
    except BaseException:
        _stop(process)
        raise


def _python(parameters: LerobotParameters, path: Path) -> str:
    if "/" not in parameters.python:
        found = shutil.which(parameters.python)
    else:
        # Not resolved: an environment's Python is a link, and its location defines the environment.
        found = shutil.which(str(resolve_uri(parameters.python, path.parent)))
    if found is None:
        raise _no_python(path, parameters.python, "there is no such program")
    return found


def _no_python(path: Path, python: str, why: str) -> ConfigurationError:
    cure = (
        "Make one with `python3.12 -m venv lerobot`, `lerobot/bin/pip install lerobot websockets msgpack`, and name "
        "its bin/python."
    )
    return ConfigurationError(str(path), "python", python, f"the Python of an environment with lerobot ({why})", cure)


def _port(process: subprocess.Popen[bytes], parameters: LerobotParameters, path: Path, python: str) -> int:
    assert process.stdout is not None
    # The line comes in one write, so it is complete once anything can be read.
    ready, _, _ = select.select([process.stdout], [], [], parameters.start_timeout)
    if not ready:
        raise ConfigurationError(
            str(path),
            "start_timeout",
            parameters.start_timeout,
            "enough time for lerobot to load the checkpoint",
            "Raise it, or try the checkpoint by hand.",
        )
    line = process.stdout.readline()
    try:
        said: dict[str, Any] = json.loads(line)
    except ValueError:
        status = process.wait(parameters.start_timeout) if not line else "output other than a port"
        raise _no_python(path, python, f"it terminated with {status}; its messages are above") from None
    if "port" in said:
        return int(said["port"])
    if said["key"] == "python":
        raise _no_python(path, python, said["error"])
    values = {"checkpoint": parameters.checkpoint, "chunk.length": parameters.chunk.length}
    expected = {"checkpoint": "one that lerobot loads", "chunk.length": "1"}
    raise ConfigurationError(str(path), said["key"], values[said["key"]], f"{expected[said['key']]}; {said['error']}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    try:
        process.wait(2.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
