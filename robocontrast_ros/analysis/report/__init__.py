"""Report pages of runs: self-contained HTML files."""

from robocontrast_ros.analysis.report.comparison_page import write_comparison
from robocontrast_ros.analysis.report.run_page import write_report

__all__ = ["write_comparison", "write_report"]
