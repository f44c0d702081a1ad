"""The state of the console as JSON for the pages. It names no policy and no perturbation."""

from __future__ import annotations

from typing import Any

from robocontrast_ros.console.console import ConsolePhase, ConsoleView
from robocontrast_ros.console.new_instances import NewInstances, Recording
from robocontrast_ros.console.questions import ROBOT, JudgeQuestion, SetUpQuestion
from robocontrast_ros.console.table_map import TableMap
from robocontrast_ros.domain import Fault, Judgement

STAGES = (
    "understood something else",
    "went to the wrong thing",
    "did not reach it",
    "lost it on the way",
    "stopped too early",
    "disturbed other things",
    "ran out of time",
)
"""Possible failures of a trial, in the order in which they happen; the person picks the first."""

ENDED_BY_PERSON = "You ended it: the goal is reached."


def view_as_json(view: ConsoleView, tables: TableMap, session: str, practice: bool) -> Any:
    """Return a state as JSON for the page.

    Args:
        view: the state.
        tables: draws scenes.
        session: name of the session's run.
        practice: whether the session practises with a simulated table.
    """
    question, facts = view.question, view.facts
    shown: dict[str, Any] = {
        "version": view.version,
        "step": view.step,
        "asked": view.asked,
        "phase": view.phase.value,
        "session": session,
        "practice": practice,
        "allowed": view.allowed,
        "instruction": getattr(question, "instruction", ""),
        "trial": getattr(question, "trial_id", ""),
        "detail": facts.detail,
        "void": {"words": f"{facts.void_fault.words} Set it up again.", "detail": facts.void_detail}
        if facts.void_fault is not Fault.NONE
        else None,
        "pausing": view.pausing,
        "stop": view.stop,
        "problems": view.problems,
        "now": view.now,
        "elapsed": round(view.elapsed, 2),
        "limit": round(view.limit, 2),
        "checklist": [{"name": name, "done": done} for name, done in view.checklist.items()],
        "session_state": {
            "done": facts.trials_done,
            "expected": facts.trials_expected,
            "void": facts.trials_void,
            "spent": facts.spent,
            "limit": facts.limit,
            "unit": facts.unit,
            "time_left": facts.time_left,
            "code": facts.code,
            "look": facts.look,
        },
    }
    if "correct" in view.allowed:
        shown["by"] = view.by
        shown["judgements"] = [
            {"trial": trial, "words": _said(said.judgement), "subgoals": said.subgoals}
            for trial, said in view.judgements
        ]
    if view.recorder is not None and view.phase is ConsolePhase.PAUSED:
        shown["recording"] = _recording(view.recording, view.recorder, tables)
    if isinstance(question, SetUpQuestion):
        drawn = tables.of(question)
        for move in drawn["moves"]:
            move["done"] = view.moved.get(move["id"], False)
        if drawn["robot"] is not None:
            drawn["robot"]["done"] = view.moved.get(ROBOT, False)
        shown["set_up"] = {
            **drawn,
            "problems": question.problems,
            "doubts": question.doubts,
            "unseen": question.unseen,
        }
    if isinstance(question, JudgeQuestion):
        draft = view.draft
        shown["judge"] = {
            "counts": question.counts,
            "ended": ENDED_BY_PERSON if view.reached else question.ended,
            "detail": question.detail,
            "reached": view.reached,
            "subgoals": question.subgoals,
            "stages": STAGES,
            "tags": view.tags,
            "notes": view.notes,
            "by": view.by,
            "draft": None
            if draft is None
            else {
                "success": draft.success,
                "progress": draft.progress,
                "stage": draft.stage,
                "tags": draft.tags,
                "note": draft.note,
            },
        }
    return shown


def _said(judgement: Judgement | None) -> str:
    if judgement is None:
        return "judged by the camera"
    return "success" if judgement.success else f"failure, {judgement.progress * 100:.0f} %"


def _recording(recording: Recording, recorder: NewInstances, tables: TableMap) -> dict[str, Any]:
    draft, scene = recording.draft, recording.scene
    shown: dict[str, Any] = {
        "source": recorder.source,
        "asks_path": recorder.asks_path,
        "kept": [{"id": name, "instruction": text} for name, text in recorder.kept],
        "map": None,
        "draft": None,
    }
    if scene is not None:
        regions, path = (draft.regions, draft.recorded.path) if draft is not None else ((), ())
        shown["map"] = tables.standing(scene, regions, path)
    if draft is not None:
        said = draft.recorded
        shown["draft"] = {"instruction": said.instruction, "meant": said.meant, "understood": draft.understood}
    return shown
