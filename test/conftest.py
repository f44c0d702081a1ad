"""What holds for every test."""

from hypothesis import settings

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("house", deadline=None)
settings.load_profile("house")


def pytest_terminal_summary(terminalreporter):
    """Print on which processors the golden digests were computed again."""
    stats = terminalreporter.stats
    properties = [item for report in stats.get("passed", ()) for item in report.user_properties]
    found = sorted(value for name, value in properties if name == "golden digest")
    if found:
        terminalreporter.section("golden digests")
        for line in found:
            terminalreporter.write_line(line)
