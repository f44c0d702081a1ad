"""Writes a tiny ACT checkpoint with random weights, for tests. Run by a Python that has lerobot: SCRIPT FOLDER."""

import sys

import torch
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.factory import get_policy_class, make_policy_config, make_pre_post_processors

VECTOR = {"mean": torch.tensor([0.4, 0.0]), "std": torch.tensor([0.1, 0.1])}
MOTION = {"mean": torch.zeros(2), "std": torch.full((2,), 0.01)}
PIXEL = {"mean": torch.zeros(3, 1, 1), "std": torch.ones(3, 1, 1)}

folder = sys.argv[1]
torch.manual_seed(0)
config = make_policy_config(
    "act",
    input_features={
        "observation.images.board": PolicyFeature(FeatureType.VISUAL, (3, 96, 96)),
        "observation.state": PolicyFeature(FeatureType.STATE, (2,)),
    },
    output_features={"action": PolicyFeature(FeatureType.ACTION, (2,))},
    device="cpu",
    push_to_hub=False,
    pretrained_backbone_weights=None,
    chunk_size=8,
    n_action_steps=8,
    dim_model=32,
    n_heads=2,
    dim_feedforward=32,
    n_encoder_layers=1,
    n_vae_encoder_layers=1,
    latent_dim=4,
)
policy = get_policy_class("act")(config)
statistics = {"observation.images.board": PIXEL, "observation.state": VECTOR, "action": MOTION}
# As a trained one has it: the backbone would be downloaded by who does not take care.
config.pretrained_backbone_weights = "ResNet18_Weights.IMAGENET1K_V1"
for part in (policy, *make_pre_post_processors(config, dataset_stats=statistics)):
    part.save_pretrained(folder)
