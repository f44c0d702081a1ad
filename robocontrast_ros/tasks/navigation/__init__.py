"""Vision-and-language navigation in a studio apartment: two places to visit in order (docs/vln.md)."""

from robocontrast_ros.tasks.navigation.task import VisionLanguageNavigation

__all__ = ["VisionLanguageNavigation"]
