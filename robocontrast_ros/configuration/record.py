"""Parameter records: frozen, by keyword only, no unknown key, only finite numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from typing_extensions import dataclass_transform

if TYPE_CHECKING:
    from pydantic import Field
else:
    # Only editors read `Field` below, and pydantic takes long to import.
    Field = None

Cls = TypeVar("Cls")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
def record(cls: type[Cls]) -> type[Cls]:
    """Make a class a parameter record: a frozen dataclass that is checked when it is made.

    Declare each field with ``pydantic.Field(description=…, ge=…, le=…)``; checks across fields go
    into ``__post_init__`` and raise ValueError with a description of the right value, whose keys in backticks are shown
    with their values. ``allow_inf_nan=True``
    allows infinity. The schema is built when the first record is made.
    """
    from pydantic import ConfigDict
    from pydantic.dataclasses import dataclass

    config = ConfigDict(extra="forbid", allow_inf_nan=False, defer_build=True)
    return dataclass(frozen=True, kw_only=True, config=config)(cls)
