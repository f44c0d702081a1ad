"""The policy of each event of a journal: a session may swap its policy between two trials."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from robocontrast_ros.runs.events import Event, PolicyLoaded, Resumed, SessionStarted


def serving_policies(events: Sequence[Event]) -> tuple[str, ...]:
    """Return, for each event, the name of the policy that serves at that time; empty if it is unknown.

    Two policies with the same name also get the shortest ends of their files' paths that differ, and the files' digests
    if those are the same, so that policies and names correspond one to one. A policy that a resumed session loads
    again is the same one, even if its file has moved.
    """
    identities: list[PolicyLoaded | None] = []
    current: PolicyLoaded | None = None
    resumed = False
    for event in events:
        if isinstance(event, PolicyLoaded):
            again = resumed and current is not None and event.digest == current.digest
            current = current if again else event
        resumed = isinstance(event, Resumed) and event.restarted
        identities.append(current)
    names = _names([loaded for loaded in identities if loaded is not None])
    before = _name_in_parameters(events)
    return tuple(before if loaded is None else names[_key(loaded)] for loaded in identities)


def _key(loaded: PolicyLoaded) -> tuple[str, str, str]:
    return loaded.name, loaded.file, loaded.digest


def _names(policies: Sequence[PolicyLoaded]) -> dict[tuple[str, str, str], str]:
    keys = tuple(dict.fromkeys(map(_key, policies)))
    names = {key: key[0] for key in keys}
    for group in _of_one_name(names):
        ends = path_ends([file for _, file, _ in group])
        names |= {key: f"{key[0]} ({end})" for key, end in zip(group, ends, strict=True)}
    for group in _of_one_name(names):
        names |= {key: f"{names[key].removesuffix(')')} {key[2][:8]})" for key in group}
    return names


def _of_one_name(names: Mapping[tuple[str, str, str], str]) -> list[list[tuple[str, str, str]]]:
    same = defaultdict(list)
    for key, name in names.items():
        same[name].append(key)
    return [group for group in same.values() if len(group) > 1]


def path_ends(files: Sequence[str]) -> tuple[str, ...]:
    """Return the shortest end of each path, without its suffix, that no other path has, so that no home is shown."""
    paths = [Path(file).parent / Path(file).stem for file in files]

    def end(path: Path) -> str:
        ends = (path.parts[-length:] for length in range(1, len(path.parts) + 1))
        alone = (end for end in ends if all(other == path or other.parts[-len(end) :] != end for other in paths))
        return str(Path(*next(alone, path.parts)))

    return tuple(map(end, paths))


def _name_in_parameters(events: Sequence[Event]) -> str:
    """Return the policy in the session's parameters, for a journal without loading events; empty if there is none."""
    started = next((event for event in events if isinstance(event, SessionStarted)), None)
    return Path(started.recorded.policy).stem if started else ""
