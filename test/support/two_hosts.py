"""Two hosts in one: network namespaces with a cable between them, and no memory that both share."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

PREFIX = f"rc{os.getpid() % 100000}"


class NotAllowed(Exception):
    """This machine, or this user, has no network namespaces."""


@contextmanager
def two_hosts() -> Iterator[tuple[list[str], list[str]]]:
    """Yield the words to put before a command that is to run on the one host, or on the other.

    Raises:
        NotAllowed: they cannot be made here; the message says why.
    """
    if os.geteuid() != 0:
        raise NotAllowed("network namespaces need root")
    for tool in ("ip", "unshare", "mount"):
        if shutil.which(tool) is None:
            raise NotAllowed(f"there is no '{tool}' (apt-get install iproute2 util-linux)")
    names = [f"{PREFIX}a", f"{PREFIX}b"]
    try:
        for name in names:
            _ip("netns", "add", name)
        a, b = names
        _ip("link", "add", f"{a}0", "netns", a, "type", "veth", "peer", "name", f"{b}0", "netns", b)
        for number, name in enumerate(names, start=1):
            _ip("-n", name, "address", "add", f"10.77.0.{number}/24", "dev", f"{name}0")
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", name, "link", "set", f"{name}0", "up")
        for name in names:
            _wait_for_addresses(name)
        yield tuple(_on(name) for name in names)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def _wait_for_addresses(name: str, timeout: float = 5.0) -> None:
    """Wait until the interface's IPv6 address may be used too, where there is one.

    A participant that looks for interfaces before was never discovered from the other host.
    """
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        show = ["ip", "-n", name, "-o", "address", "show", "dev", f"{name}0"]
        shown = subprocess.run(show, capture_output=True, text=True, check=True).stdout
        if "inet6" in shown and "tentative" not in shown:
            return
        time.sleep(0.05)


def _on(name: str) -> list[str]:
    # DDS passes messages through shared memory where it can; hosts cannot.
    alone = 'mount -t tmpfs tmpfs /dev/shm && exec "$@"'
    return ["ip", "netns", "exec", name, "unshare", "--mount", "sh", "-c", alone, "sh"]


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], check=False, capture_output=True, text=True)
    if done.returncode:
        raise NotAllowed(f"ip {' '.join(words)}: {done.stderr.strip()}")
