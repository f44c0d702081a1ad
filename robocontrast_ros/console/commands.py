"""What the page may ask for: each command a record with an id, checked before anything is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

PLAIN = r"^[^\x00-\x08\x0b-\x1f\x7f]*$"
"""Text without control characters, which a terminal that shows a log would obey."""

Word = Annotated[str, StringConstraints(strip_whitespace=True, max_length=64, pattern=PLAIN)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=500, pattern=PLAIN)]
Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500, pattern=PLAIN)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64, pattern=PLAIN)]
Item = Annotated[str, StringConstraints(max_length=2000)]
Point = tuple[Annotated[float, Field(ge=-1e3, le=1e3)], Annotated[float, Field(ge=-1e3, le=1e3)]]
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


@dataclass(frozen=True, kw_only=True)
class Command:
    """What all commands have.

    Attributes:
        id: chosen by the page; a command whose id was carried out already is not carried out again.
        step: of the state that the page showed; None for commands that may be given at any time.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)

    id: Id
    step: Annotated[int, Field(ge=0)] | None = None


@dataclass(frozen=True, kw_only=True)
class SteeringCommand(Command):
    """Acts on the session or the robot, which takes time; all others answer what is asked."""


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """After it the robot may move: it holds for some seconds, not when a lost connection is back.

    Attributes:
        at: when it was given, on the console's clock as the page knows it [s].
    """

    at: float


@dataclass(frozen=True, kw_only=True)
class Tick(Command):
    """An item of the checklist is done, or an object was moved; or it is not. An empty name stands for all of them."""

    name: Item
    done: bool = True
    command: Literal["tick"] = "tick"


@dataclass(frozen=True, kw_only=True)
class Checked(Command):
    """All items of the checklist are done."""

    command: Literal["checked"] = "checked"


@dataclass(frozen=True, kw_only=True)
class Ready(Command):
    """The scene is set up; ``overrule`` where the camera doubts it and is wrong."""

    overrule: bool = False
    command: Literal["ready"] = "ready"


@dataclass(frozen=True, kw_only=True)
class Start(Prompt, Command):
    """The trial may start: nobody is within the robot's reach."""

    command: Literal["start"] = "start"


@dataclass(frozen=True, kw_only=True)
class Reached(SteeringCommand):
    """The goal is reached: the trial may end before its time is over."""

    command: Literal["reached"] = "reached"


@dataclass(frozen=True, kw_only=True)
class Judge(Command):
    """How the trial went."""

    success: bool
    progress: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    stage: Word = ""
    tags: Annotated[tuple[Name, ...], Field(max_length=20)] = ()
    note: Text = ""
    by: Word = ""
    command: Literal["judge"] = "judge"


@dataclass(frozen=True, kw_only=True)
class Undo(Command):
    """Back to the judgement of the trial."""

    command: Literal["undo"] = "undo"


@dataclass(frozen=True, kw_only=True)
class Next(Command):
    """Go on without waiting for the time in which a judgement can be taken back."""

    command: Literal["next"] = "next"


@dataclass(frozen=True, kw_only=True)
class Void(Command):
    """The attempt is void and is made again."""

    reason: Reason
    command: Literal["void"] = "void"


@dataclass(frozen=True, kw_only=True)
class Skip(Command):
    """The trial is left out."""

    reason: Reason
    command: Literal["skip"] = "skip"


@dataclass(frozen=True, kw_only=True)
class Stop(SteeringCommand):
    """Stop the robot."""

    reason: Text = "stopped on the console"
    command: Literal["stop"] = "stop"


@dataclass(frozen=True, kw_only=True)
class Release(Prompt, SteeringCommand):
    """Let the robot move again."""

    by: Name
    note: Text = ""
    command: Literal["release"] = "release"


@dataclass(frozen=True, kw_only=True)
class Pause(SteeringCommand):
    """Wait after the present trial, for as long as anybody likes."""

    command: Literal["pause"] = "pause"


@dataclass(frozen=True, kw_only=True)
class Resume(Prompt, SteeringCommand):
    """Go on after a pause."""

    command: Literal["resume"] = "resume"


@dataclass(frozen=True, kw_only=True)
class Correct(SteeringCommand):
    """A trial should have been judged otherwise."""

    trial: Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=PLAIN)]
    success: bool
    progress: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    by: Name
    reason: Reason
    command: Literal["correct"] = "correct"


@dataclass(frozen=True, kw_only=True)
class Survey(SteeringCommand):
    """Look at the scene as it stands, to record a test instance of it."""

    command: Literal["survey"] = "survey"


@dataclass(frozen=True, kw_only=True)
class Propose(SteeringCommand):
    """Check a new test instance: what the robot would be told, and the walked path, in the map's coordinates [m].

    ``meant`` is the same in words of the task, where it does not understand the instruction.
    """

    instruction: Reason
    path: Annotated[tuple[Point, ...], Field(max_length=200)] = ()
    by: Word = ""
    meant: Text = ""
    command: Literal["propose"] = "propose"


@dataclass(frozen=True, kw_only=True)
class Keep(SteeringCommand):
    """Keep the test instance that was checked."""

    command: Literal["keep"] = "keep"


@dataclass(frozen=True, kw_only=True)
class Discard(SteeringCommand):
    """Record no more test instances."""

    command: Literal["discard"] = "discard"


@dataclass(frozen=True, kw_only=True)
class End(SteeringCommand):
    """End the session; it can be resumed."""

    command: Literal["end"] = "end"


_Answering = Tick | Checked | Ready | Start | Judge | Undo | Next | Void | Skip
_Steering = Reached | Stop | Release | Pause | Resume | Correct | Survey | Propose | Keep | Discard | End
AnyCommand = Annotated[_Answering | _Steering, Field(discriminator="command")]

LONGEST = 300
"""Of the words of a refusal."""

_ADAPTER: TypeAdapter[Command] = TypeAdapter(AnyCommand)


def read_command(content: bytes) -> Command:
    """Return the command of a request's body.

    Raises:
        ValueError: it is no JSON object of one of the commands; in one line.
    """
    try:
        return _ADAPTER.validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:80]
        raise ValueError(_one_line(f"{where}: {first['msg']}" if where else first["msg"])) from None


def _one_line(text: str) -> str:
    """Return a text that may quote what came, so that it can be shown."""
    return "".join(c if c.isprintable() else "?" for c in text[:LONGEST])
