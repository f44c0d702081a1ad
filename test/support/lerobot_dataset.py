"""Reads a data set with lerobot itself and prints what it finds as JSON. Run by a Python that has it: SCRIPT FOLDER."""

import json
import sys

from lerobot.datasets.lerobot_dataset import LeRobotDataset

root = sys.argv[1]
data = LeRobotDataset("some/name", root=root, video_backend="pyav")
every = [data[number] for number in range(len(data))]
camera = data.meta.video_keys[0]
found = {
    "frames": len(data),
    "episodes": data.num_episodes,
    "fps": data.fps,
    "tasks": [each["task"] for each in every],
    "state": [each["observation.state"].tolist() for each in every],
    "first": every[0][camera].permute(1, 2, 0).tolist(),
    "stats": sorted(data.meta.stats),
    "shape": list(data.meta.stats[camera]["mean"].shape),
}
print(json.dumps(found))
