"""What two bags differ in, message by message, log times aside."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest
from pathlib import Path

from cdr_padding import without_padding

from robocontrast_ros.bags.reader import read_bag


def differences(first: Path, second: Path) -> list[str]:
    """Return what differs between two bags, as text; nothing where each topic has the same messages in the same order.

    Messages are compared as they were serialised, without the bytes that align their values.
    """
    one, other = _messages(first), _messages(second)
    found = [f"{topic} is in one alone" for topic in sorted(one.keys() ^ other.keys())]
    for topic in sorted(one.keys() & other.keys()):
        pairs = enumerate(zip_longest(one[topic], other[topic]))
        unequal = [number for number, (left, right) in pairs if left != right]
        if unequal:
            found.append(f"{topic}: {len(unequal)} messages differ, the first is number {unequal[0]}")
    return found


def _messages(bag: Path) -> dict[str, list[bytes]]:
    messages = defaultdict(list)
    for message in read_bag(bag, lambda topic, type_name: True).messages:
        messages[f"{message.topic} {message.type_name}"].append(without_padding(message.cdr, message.type_name))
    return messages
