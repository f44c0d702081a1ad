"""Serves a lerobot checkpoint by openpi's protocol. A script for lerobot's own environment.

It runs where this package is not installed, so it imports only ``openpi_wire``, from the same folder. It writes one
line of JSON to standard output: {"port": …}, or {"key": …, "error": …} when the checkpoint cannot be served. It ends
with its standard input, so that it never outlives the process that started it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

# Everything is local: nothing may be downloaded.
os.environ["HF_HUB_OFFLINE"] = "1"


class Checkpoint:
    """A lerobot policy with its processors."""

    def __init__(self, folder: Path, device: str | None, actions: int) -> None:
        """Load it; the weights are safetensors, which contain no code.

        Raises:
            Exception: whatever lerobot raises.
        """
        import torch
        from lerobot.configs.policies import PreTrainedConfig
        from lerobot.policies.factory import get_policy_class, make_pre_post_processors
        from lerobot.policies.utils import prepare_observation_for_inference

        self._torch, self._prepare = torch, prepare_observation_for_inference
        config = PreTrainedConfig.from_pretrained(str(folder), local_files_only=True)
        if device is not None:
            config.device = device
        if hasattr(config, "pretrained_backbone_weights"):
            # The checkpoint has the backbone's weights; lerobot would download others first.
            config.pretrained_backbone_weights = None
        self.config = config
        self._policy = get_policy_class(config.type).from_pretrained(
            str(folder), config=config, local_files_only=True, strict=True
        )
        self._before, self._after = make_pre_post_processors(
            config,
            pretrained_path=str(folder),
            preprocessor_overrides={"device_processor": {"device": config.device}},
        )
        self._actions = actions
        self.observation_steps = getattr(config, "n_obs_steps", 1)

    @property
    def metadata(self) -> dict[str, Any]:
        """Its inputs and its action."""
        inputs = {key: list(feature.shape) for key, feature in self.config.input_features.items()}
        (action,) = self.config.output_features.values()
        return {
            "lerobot": self.config.type,
            "device": self.config.device,
            "inputs": inputs,
            "action_size": action.shape[0],
        }

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Reset, or return actions for an observation."""
        torch = self._torch
        if message.get("reset"):
            self._policy.reset()
            torch.manual_seed(message["seed"] % 2**63)
            return {}
        task = message.pop("task")
        # A copy, because arrays of a message are read-only.
        arrays = {key: value.copy() for key, value in message.items()}
        with torch.inference_mode():
            batch = self._before(self._prepare(arrays, torch.device(self.config.device), task))
            if self._actions == 1:
                actions = [self._policy.select_action(batch)]
            else:
                chunk = self._policy.predict_action_chunk(batch)[:, : self._actions]
                actions = list(chunk.unbind(dim=1))
            rows = [self._after(action).squeeze(0).float().cpu() for action in actions]
        return {"actions": torch.stack(rows).numpy()}


def main() -> None:
    """Load, report the port, and serve until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="folder with config.json and model.safetensors")
    parser.add_argument("--device", help="cpu, cuda, cuda:1, mps; the checkpoint's if left out")
    parser.add_argument("--actions", type=int, default=1, help="actions in an answer; 1 asks lerobot's select_action")
    arguments = parser.parse_args()
    # lerobot prints to standard output, which is for our line alone.
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(**line: Any) -> None:
        print(json.dumps(line), file=report, flush=True)

    def fail(key: str, error: BaseException | str) -> NoReturn:
        print(*traceback.format_exception(error) if isinstance(error, Exception) else [error], file=sys.stderr)
        lines = str(error).strip().splitlines() or [type(error).__name__]
        say(key=key, error=lines[0])
        sys.exit(1)

    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        import lerobot  # noqa: F401
        from openpi_wire import LARGEST_MESSAGE, Packer, unpack
        from websockets.sync.server import serve
    except ImportError as error:
        fail("python", error)
    try:
        checkpoint = Checkpoint(arguments.checkpoint, arguments.device, arguments.actions)
    except Exception as error:  # lerobot may raise anything; it is reported in one line
        fail("checkpoint", error)
    if arguments.actions > 1 and checkpoint.observation_steps > 1:
        fail(
            "chunk.length",
            f"this policy uses {checkpoint.observation_steps} observations, so it needs a request at each control step",
        )
    handler = _handler(checkpoint, Packer, unpack)
    with serve(handler, "127.0.0.1", 0, compression=None, max_size=LARGEST_MESSAGE) as server:
        say(port=server.socket.getsockname()[1])
        server.serve_forever()


def _handler(checkpoint: Checkpoint, make_packer: type, unpack: Callable[[bytes], Any]) -> Callable[[Any], None]:
    turn = threading.Lock()

    def handle(connection: Any) -> None:
        packer = make_packer()
        connection.send(packer.pack(checkpoint.metadata))
        for data in connection:
            try:
                with turn:
                    answer = checkpoint.answer(unpack(data))
            except Exception:  # reported to the client, as by openpi's server
                traceback.print_exc()
                connection.send(traceback.format_exc())
                return
            connection.send(packer.pack(answer))

    return handle


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
