"""Networks of PyTorch as policies: exported, TorchScript, or a class with its weights (docs/torch_policies.md)."""
