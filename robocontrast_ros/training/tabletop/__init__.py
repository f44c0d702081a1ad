"""How the learned policies of the tabletop task are made."""
