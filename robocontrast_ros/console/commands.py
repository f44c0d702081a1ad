"""Commands of the page: each is a record with an id, and is checked before anything is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

PLAIN = r"^[^\x00-\x08\x0b-\x1f\x7f]*$"
"""Text without control characters, because a terminal that shows a log would obey them."""

Word = Annotated[str, StringConstraints(strip_whitespace=True, max_length=64, pattern=PLAIN)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=500, pattern=PLAIN)]
Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500, pattern=PLAIN)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64, pattern=PLAIN)]
Item = Annotated[str, StringConstraints(max_length=2000)]
Point = tuple[Annotated[float, Field(ge=-1e3, le=1e3)], Annotated[float, Field(ge=-1e3, le=1e3)]]
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


@dataclass(frozen=True, kw_only=True)
class Command:
    """The fields of all commands.

    Attributes:
        id: chosen by the page; a command whose id was carried out already is not carried out again.
        step: number of the state that the page showed; None for commands that may be given at any time.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)

    id: Id
    step: Annotated[int, Field(ge=0)] | None = None


@dataclass(frozen=True, kw_only=True)
class SteeringCommand(Command):
    """A command that acts on the session or the robot, which takes time; all others answer the open question."""


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A command after which the robot may move: it is valid for some seconds only, not after a lost connection is back.

    Attributes:
        at: time of the command on the console's clock, as the page knows it [s].
    """

    at: float


@dataclass(frozen=True, kw_only=True)
class Tick(Command):
    """An item of the checklist is done or not done, or an object is moved or not moved. An empty name means all."""

    name: Item
    done: bool = True
    command: Literal["tick"] = "tick"


@dataclass(frozen=True, kw_only=True)
class Checked(Command):
    """All items of the checklist are done."""

    command: Literal["checked"] = "checked"


@dataclass(frozen=True, kw_only=True)
class Ready(Command):
    """The scene is set up; ``overrule`` if the camera doubts it and is wrong."""

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
    """The judgement of the trial."""

    success: bool
    progress: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    stage: Word = ""
    tags: Annotated[tuple[Name, ...], Field(max_length=20)] = ()
    note: Text = ""
    by: Word = ""
    command: Literal["judge"] = "judge"


@dataclass(frozen=True, kw_only=True)
class Undo(Command):
    """Return to the judgement of the trial."""

    command: Literal["undo"] = "undo"


@dataclass(frozen=True, kw_only=True)
class Next(Command):
    """Go on at once: the judgement can no longer be taken back."""

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
    """Wait after the present trial, without a time limit."""

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
    """Look at the present scene, to record a test instance of it."""

    command: Literal["survey"] = "survey"


@dataclass(frozen=True, kw_only=True)
class Propose(SteeringCommand):
    """Check a new test instance: the instruction for the robot, and the walked path, in the map's coordinates [m].

    ``meant`` is the same instruction in words of the task, if the task does not understand the first one.
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
"""Greatest number of characters of a refusal."""

_ADAPTER: TypeAdapter[Command] = TypeAdapter(AnyCommand)


def read_command(content: bytes) -> Command:
    """Return the command in a request's body.

    Raises:
        ValueError: the body is no JSON object of one of the commands; the message has one line.
    """
    try:
        return _ADAPTER.validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:80]
        raise ValueError(_one_line(f"{where}: {first['msg']}" if where else first["msg"])) from None


def _one_line(text: str) -> str:
    """Return a message that may quote the request, made safe to show."""
    return "".join(c if c.isprintable() else "?" for c in text[:LONGEST])
