"""What Ctrl-C does to a process of ours that still imports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

WAITS = "import sys, time; sys.stdout.write('imports\\n'); sys.stdout.flush(); time.sleep(60)\n"
"""A module whose import takes long."""

START = "from robocontrast_ros.system.starting import end_quietly; end_quietly(); import slow"


@pytest.mark.parametrize(("quiet", "code"), [(True, 0), (False, -signal.SIGINT)])
def test_ctrl_c_during_imports_ends_a_process_at_once_without_words(tmp_path, quiet, code):
    (tmp_path / "slow.py").write_text(WAITS)
    process = subprocess.Popen(
        [sys.executable, "-c", START if quiet else "import slow"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "imports\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == code
    assert (errors == "") is quiet, errors


def test_a_handler_that_is_there_is_kept():
    kept = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    kept += "from robocontrast_ros.system.starting import end_quietly; end_quietly(); "
    kept += "print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    assert subprocess.run([sys.executable, "-c", kept], capture_output=True, text=True).stdout == "True\n"
