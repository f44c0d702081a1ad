"""What every parameter record is: frozen, by keyword only, no unknown key, only finite numbers."""

from __future__ import annotations

from typing import TypeVar

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass
from typing_extensions import dataclass_transform

Cls = TypeVar("Cls")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
def record(cls: type[Cls]) -> type[Cls]:
    """Make a class a parameter record: a frozen dataclass that is checked when it is made.

    Declare each field with ``pydantic.Field(description=…, ge=…, le=…)``; checks across fields go
    into ``__post_init__`` and raise ValueError saying what was expected. Where infinity is a value,
    ``allow_inf_nan=True`` says so.
    """
    return dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))(cls)
