"""The tabletop's learned policies: from ground-truth state or from pixels."""
