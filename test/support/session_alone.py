"""The command `robocontrast`, without the results of a session at its end: they take longer than to start it."""

from robocontrast_ros.cli import evaluate
from robocontrast_ros.cli.main import app

if __name__ == "__main__":
    evaluate._show_results_of = lambda run, code, console: code
    app()
