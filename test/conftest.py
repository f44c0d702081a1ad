"""What holds for every test."""

import contextlib
import gc
import json
import os
import resource
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# As in the processes of ours, before anything loads a numeric library: threads that wait for each other spin, and take
# several times as long where the other workers use the processors.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from robocontrast_ros.images.rendering import TRIED, RenderingUnavailable, working_backend

# Who starts the tests in the background of a script, or with nohup, has these ignored, and so would have what is
# started here.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

# Each command would try it again, in a process that imports MuJoCo; workers have it from the process that starts them.
with contextlib.suppress(RenderingUnavailable):
    os.environ.setdefault(TRIED, working_backend())

# What is imported and collected stays: to look for garbage in it again and again takes a tenth of the collection.
gc.disable()

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("quick", deadline=None, max_examples=10)
settings.register_profile("full", deadline=None, max_examples=100)
settings.load_profile("quick")


def pytest_collection_finish():
    """Look for garbage again."""
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def collected_garbage():
    """Leave what lives by now, most of it imported modules, out of each later collection of garbage.

    A worker of the whole suite holds more than a gigabyte.
    """
    gc.collect()
    gc.freeze()


PROCESSOR_TIME = "processor time [s]"
BEGAN = pytest.StashKey[float]()


def processor_time():
    """Return what this process, and the ended ones that it started, have taken of processors [s]."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def pytest_addoption(parser):
    """Add the option that scripts/slowest.py needs."""
    parser.addoption("--costs", type=Path, metavar="FILE", help="write what each test takes of processors, as JSON")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    """Take note of when a test begins."""
    item.stash[BEGAN] = processor_time()


def pytest_runtest_makereport(item, call):
    """Put into the last report of a test what it took."""
    if call.when == "teardown":
        item.user_properties.append((PROCESSOR_TIME, processor_time() - item.stash[BEGAN]))


def pytest_terminal_summary(terminalreporter, config):
    """Print on which processors the golden digests were computed again; write what tests took where it is asked for."""
    stats = terminalreporter.stats
    if file := config.getoption("costs"):
        ends = [each for reports in stats.values() for each in reports if getattr(each, "when", "") == "teardown"]
        costs = [(end.nodeid, "long" in end.keywords, dict(end.user_properties)[PROCESSOR_TIME]) for end in ends]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(costs), encoding="utf-8")
    properties = [item for report in stats.get("passed", ()) for item in report.user_properties]
    found = sorted(value for name, value in properties if name == "golden digest")
    if found:
        terminalreporter.section("golden digests")
        for line in found:
            terminalreporter.write_line(line)
