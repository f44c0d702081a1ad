"""Pages that say what runs came to: one HTML file each, with all that it shows inside it."""

from robocontrast_ros.analysis.report.comparison_page import write_comparison
from robocontrast_ros.analysis.report.run_page import write_report

__all__ = ["write_comparison", "write_report"]
