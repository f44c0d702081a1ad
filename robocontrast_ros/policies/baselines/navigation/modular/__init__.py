"""A modular baseline of navigation: language, vision and a map, each a module."""
