"""The rules of the instructions about blocks; the words are the public environment's."""

from __future__ import annotations

from collections.abc import Iterable

from robocontrast_ros.domain import Instruction
from robocontrast_ros.tasks.grammar import Alternative, Derivation, Fits, Grammar, Phrase, meaning, synonyms
from robocontrast_ros.tasks.language_table.blocks import ALL_REFERENCES, Reference
from robocontrast_ros.tasks.language_table.goals import split_direction

ROLES = ("source", "target")

_SLIGHTLY = ("slightly", "a bit", "a little", "a little bit", "somewhat")

# rule -> meaning as (feature, value) pairs -> synonyms
_RULES: dict[str, list[tuple[dict[str, str], tuple[str, ...]]]] = {
    "sentence": [
        ({"family": "block_to_block"}, ("{push_verb} {source} {preposition} {target}",)),
        ({"family": "block_to_absolute_location"}, ("{push_verb} {source} {place}",)),
        (
            {"family": "block_to_relative_location", "distance": "far"},
            ("{motion_verb} {source} {course}",),
        ),
        (
            {"family": "block_to_relative_location", "distance": "near"},
            (
                "slightly {motion_verb} {source} {course}",
                "{motion_verb} {source} {slightly} {course}",
                "{motion_verb} {source} {course} {slightly}",
            ),
        ),
        ({"family": "block_to_block_relative_location"}, ("{push_verb} {source} {side} {target}",)),
        (
            {"family": "separate_blocks"},
            (
                "pull the {source} apart from the {target}",
                "move the {source} away from the {target}",
                "separate the {source} from the {target}",
            ),
        ),
    ],
    "push_verb": [({}, ("push the", "move the", "slide the", "put the"))],
    "motion_verb": [({}, ("move the", "push the", "slide the"))],
    "preposition": [({}, ("to the", "towards the", "close to the", "next to the"))],
    "slightly": [({}, _SLIGHTLY)],
    "place": [
        ({"location": "top"}, ("to the top side", "to the top", "towards your base")),
        (
            {"location": "top_left"},
            (
                "to the top left of the board",
                "to the top left",
                "to the upper left corner",
                "to the top left corner",
            ),
        ),
        (
            {"location": "top_right"},
            (
                "to the top right of the board",
                "to the top right",
                "to the upper right corner",
                "to the top right corner",
            ),
        ),
        (
            {"location": "center"},
            ("to the middle of the board", "to the center of the board", "to the center", "to the middle"),
        ),
        (
            {"location": "center_left"},
            ("to the left side of the board", "to the center left", "to the left side"),
        ),
        (
            {"location": "center_right"},
            ("to the right side of the board", "to the center right", "to the right side"),
        ),
        ({"location": "bottom"}, ("to the bottom side", "to the bottom")),
        (
            {"location": "bottom_left"},
            (
                "to the bottom left of the board",
                "to the bottom left",
                "to the lower left corner",
                "to the bottom left corner",
            ),
        ),
        (
            {"location": "bottom_right"},
            (
                "to the bottom right of the board",
                "to the bottom right",
                "to the lower right corner",
                "to the bottom right corner",
            ),
        ),
    ],
    "course": [
        ({"horizontal": ""}, ("{vertical}",)),
        ({"vertical": ""}, ("{horizontal}",)),
        (
            {},
            (
                "{vertical} and {horizontal}",
                "{vertical} and then {horizontal}",
                "diagonally {vertical} and {horizontal}",
                "{vertical} and {horizontal} diagonally",
            ),
        ),
    ],
    "vertical": [({"vertical": "up"}, ("up", "upwards")), ({"vertical": "down"}, ("down", "downwards"))],
    "horizontal": [
        ({"horizontal": "left"}, ("to the left", "left")),
        ({"horizontal": "right"}, ("to the right", "right")),
    ],
    "side": [
        (
            {"vertical": "up", "horizontal": ""},
            ("above the", "to the top side of the", "to the top of the"),
        ),
        (
            {"vertical": "down", "horizontal": ""},
            ("below the", "to the bottom side of the", "to the bottom of the"),
        ),
        (
            {"vertical": "", "horizontal": "left"},
            ("just left of the", "to the left of the", "left of the", "to the left side of the"),
        ),
        (
            {"vertical": "", "horizontal": "right"},
            ("just right of the", "to the right of the", "right of the", "to the right side of the"),
        ),
        *(
            (
                {"vertical": vertical, "horizontal": horizontal},
                (
                    f"to the {edge} {horizontal} side of the",
                    f"to the {edge} {horizontal} of the",
                    f"diagonally {vertical} and to the {horizontal} of the",
                ),
            )
            for vertical, edge in (("up", "top"), ("down", "bottom"))
            for horizontal in ("left", "right")
        ),
    ],
}


def _kind(reference: Reference) -> str:
    return "+".join(kind for kind in ("colour", "shape") if getattr(reference, kind))


GRAMMAR = Grammar(
    {rule: [p for means, words in groups for p in synonyms(*words, **means)] for rule, groups in _RULES.items()}
    | {role: [Phrase(r.words, {role: r}, _kind(r)) for r in ALL_REFERENCES] for role in ROLES}
)
"""The sentences."""


def says(instruction: Instruction, blocks: Iterable[str]) -> Fits:
    """Return a test for an instruction: expressions must be unambiguous among the blocks on the table."""
    on_table = tuple(blocks)
    wanted = {"family": instruction.family, **dict(instruction.arguments)}
    direction = wanted.pop("direction", None)
    if direction is not None:
        wanted["vertical"], wanted["horizontal"] = split_direction(direction)

    def fits(alternative: Alternative) -> bool:
        return all(
            value.among(on_table) == (wanted.get(key),) if isinstance(value, Reference) else value == wanted.get(key)
            for key, value in alternative.means.items()
        )

    return fits


def to_instruction(text: str, derivation: Derivation, blocks: Iterable[str]) -> Instruction:
    """Return the instruction of a sentence for these blocks on the table.

    Raises:
        ValueError: an expression fits none or several of the blocks, or both mean the same block.
    """
    on_table = tuple(blocks)
    arguments: dict[str, str] = {}
    for feature, value in meaning(derivation).items():
        arguments[feature] = value.resolve(on_table) if isinstance(value, Reference) else value
    family = arguments.pop("family")
    vertical, horizontal = arguments.pop("vertical", ""), arguments.pop("horizontal", "")
    if vertical or horizontal:
        arguments["direction"] = "_".join(filter(None, (vertical, horizontal)))
    if arguments["source"] == arguments.get("target"):
        raise ValueError(f"'{text}': source and target are both the {arguments['source'].replace('_', ' ')}")
    return Instruction(text, family, tuple(arguments.items()))
