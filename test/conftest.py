"""What holds for every test."""

import gc
import signal

import pytest
from hypothesis import settings

# Who starts the tests in the background of a script, or with nohup, has these ignored, and so would have what is
# started here.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("full", deadline=None, max_examples=100)
settings.load_profile("quick")


@pytest.fixture(scope="module", autouse=True)
def collected_garbage():
    """Leave what lives by now, most of it imported modules, out of each later collection of garbage.

    A worker of the whole suite holds more than a gigabyte, and statsmodels collects with each correction of p-values.
    """
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter):
    """Print on which processors the golden digests were computed again."""
    stats = terminalreporter.stats
    properties = [item for report in stats.get("passed", ()) for item in report.user_properties]
    found = sorted(value for name, value in properties if name == "golden digest")
    if found:
        terminalreporter.section("golden digests")
        for line in found:
            terminalreporter.write_line(line)
