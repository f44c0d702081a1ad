"""Modifications of a scene that do not concern the skill: Observation Space Shift (seed 003, sections III, IV-A).

A scene is read as a problem, in text; the candidates are those of ``tasks.bddl.modifications``. One that is drawn is
made in the scene: it has room, everything stays at rest, nothing is in the sweep of a part or in the way of the hand,
which takes and puts down, or moves the handle, as before; and the goal does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from robocontrast_ros.domain import PART, Instruction, NotApplicable, ObjectState, Perturbed, Scene, TestInstance
from robocontrast_ros.objects.joints import part_pose
from robocontrast_ros.tasks.bddl import Atom, Kitchen, Problem, Region
from robocontrast_ros.tasks.bddl.modifications import (
    FREE_PLACE,
    KINDS,
    TOGGLE,
    Modification,
    Vocabulary,
    modifications,
    modified,
    put_beside,
    refusal,
)
from robocontrast_ros.tasks.bddl.problem import IN, ON, SIDES
from robocontrast_ros.tasks.bddl.problem import STATES as PART_STATES
from robocontrast_ros.tasks.kitchen.drawing import Names, NoScene, ProblemScenes, place_in_state
from robocontrast_ros.tasks.kitchen.goals import atom_of
from robocontrast_ros.tasks.kitchen.library import Things
from robocontrast_ros.tasks.kitchen.neighbourhood import KitchenNeighbourhood, Way
from robocontrast_ros.tasks.kitchen.parameters import KitchenParameters
from robocontrast_ros.tasks.kitchen.planner import JointWay
from robocontrast_ros.tasks.kitchen.predicates import STATES, Predicates
from robocontrast_ros.tasks.kitchen.requests import carried
from robocontrast_ros.tasks.plans import NoPlan
from robocontrast_ros.tasks.protocol import SOLVED, Answer, Infeasible, Task
from robocontrast_ros.tasks.proven import paths, proven

UNCONCERNED = "nothing that the skill needs or brings about has changed, and the hand acts as before"

TABLE = "table"
"""Name of the table in the text of a scene."""

TABLE_TYPE = "kitchen_table"

PUSHED = 0.001
"""Farther than this nothing else may move when a thing comes to rest [m]. All else stays exactly, so that one that has
been pushed would overlap the new thing, and both would fly apart."""

TRIES = 5
"""How often several modifications are drawn, at most."""


class KitchenModifications:
    """Modifies scenes.

    Attributes:
        kinds: kinds of modifications.
        settle: returns a scene at rest; None if it does not come to rest, or something is inside another thing then.
    """

    kinds = KINDS

    def __init__(
        self,
        task: Task,
        parameters: KitchenParameters,
        things: Things,
        kitchen: Kitchen,
        vocabulary: Vocabulary,
        scenes: ProblemScenes,
        neighbourhood: KitchenNeighbourhood,
        predicates: Predicates,
        settle: Callable[[Scene], Scene | None],
    ) -> None:
        """Take the task and its parts."""
        self._task, self._p, self._things, self._kitchen = task, parameters, things, kitchen
        self._vocabulary, self._scenes, self._neighbourhood = vocabulary, scenes, neighbourhood
        self._predicates, self.settle = predicates, settle
        self._types = {
            known.model: name
            for kinds in (kitchen.types.fixtures, kitchen.types.objects)
            for name, known in kinds.items()
            if name != TABLE_TYPE
        }

    # -- one scene as a text ------------------------------------------------------------------------

    def problem(self, instruction: Instruction, scene: Scene) -> Problem:
        """Return a scene as a problem: what is in, on and open in it, and the goal of an instruction.

        Each thing on the table stands in a region of its own, and one more region is the table's free place.

        Raises:
            ValueError: a thing has no type in problems, or the instruction is unknown.
        """
        fixtures, objects = {TABLE: TABLE_TYPE}, {}
        movable = carried(scene, self._things)
        for state in scene:
            if PART in state.name or state.model not in self._types:
                if state.name in movable:
                    raise ValueError(f"'{state.name}' is a {state.model}, which no problem has")
                continue
            (objects if state.name in movable else fixtures)[state.name] = self._types[state.model]
        sites = [
            Region(site, name) for name, kind in fixtures.items() for site in self._kitchen.types.fixtures[kind].sites
        ]
        where = self._p.distracting.region if self._p.distracting is not None else self._p.region
        free = Region(FREE_PLACE, TABLE, ((where.x_min, where.y_min, where.x_max, where.y_max),))
        text = Problem("scene", instruction.text, fixtures, objects, (free, *sites))
        names = Names(text, self._kitchen.types)
        held = [self._place(name, text, names, scene) for name in objects]
        on_table = [name for name in fixtures if name != TABLE]
        on_table += [name for name, atom in zip(objects, held, strict=True) if atom is None]
        own = [Region(f"{name}_place", TABLE, ((*scene[name].pose.xy, *scene[name].pose.xy),)) for name in on_table]
        init = [Atom(ON, (region.name.removesuffix("_place"), region.full_name)) for region in own]
        init += [*filter(None, held), *self._states(text, names, scene)]
        text = replace(text, regions=(free, *sites, *own), init=tuple(init))
        return self._asked(text, names, instruction)

    def _place(self, name: str, text: Problem, names: Names, scene: Scene) -> Atom | None:
        """Return what a thing is on or in; None if that is the table."""
        for place in (*text.named_regions, *text.objects):
            thing = names.thing(place, self._things)
            if place == f"{TABLE}_{FREE_PLACE}" or thing == name or thing not in scene:
                continue
            predicate = self._predicate(text, place)
            try:
                if self._predicates.holds(Atom(predicate, (name, thing)), scene):
                    return Atom(predicate, (name, place))
            except ValueError:
                continue
        return None

    def _predicate(self, text: Problem, place: str) -> str:
        kind = self._kitchen.kind_of(text, place)
        return IN if self._kitchen.domain.is_a(kind, "container") else ON

    def _states(self, text: Problem, names: Names, scene: Scene) -> list[Atom]:
        """Return the states of the joints."""
        found: dict[str, Atom] = {}
        for place in (*text.fixtures, *text.named_regions):
            part = names.thing(place, self._things)
            if part not in scene or scene[part].model not in self._things.parts or part in found:
                continue
            joint = self._things.parts[scene[part].model].joint
            now = joint.state(self._things.position(scene, part))
            predicate = next((p for p, state in STATES.items() if state == now), None)
            if predicate is not None:
                found[part] = Atom(predicate, (place,))
        return list(found.values())

    def _asked(self, text: Problem, names: Names, instruction: Instruction) -> Problem:
        """Return the text with its goal; what is to stand beside a thing has a region there."""
        atom = atom_of(instruction)
        if atom.predicate in SIDES:
            return put_beside(text, atom, TABLE)
        if atom.predicate in PART_STATES:
            (part,) = atom.arguments
            places = [p for p in (*text.fixtures, *text.named_regions) if names.thing(p, self._things) == part]
            return replace(text, of_interest=(places[0],), goal=(Atom(atom.predicate, (places[0],)),))
        target, reference = atom.arguments
        wanted = ON if atom.predicate == "Stack" else atom.predicate
        places = [
            place for place in (*text.objects, *text.named_regions) if names.thing(place, self._things) == reference
        ]
        suits = [place for place in places if self._predicate(text, place) == wanted] or places
        if not suits:
            raise ValueError(f"'{reference}' has no name in problems")
        return replace(text, of_interest=(target, suits[0]), goal=(Atom(wanted, (target, suits[0])),))

    # -- changes ------------------------------------------------------------------------------------

    def candidates(self, instruction: Instruction, scene: Scene) -> tuple[Modification, ...]:
        """Return all single modifications that do not concern the skill, by the text of the scene alone.

        Raises:
            ValueError: the scene or the instruction cannot be said in a problem.
        """
        text = self.problem(instruction, scene)
        every = modifications(text, self._vocabulary, self._kitchen)
        return tuple(each for each in every if not refusal(text, each, self._kitchen))

    def modify(self, base: TestInstance, kinds: Sequence[str], count: int, rng: np.random.Generator) -> Answer:
        """Return the instance with so many modifications of some kinds, one after the other.

        A kind is uniform over those given, then a modification over those of the kind, until one can be made. Nothing
        is changed twice. If no further one can be made, all are drawn anew, some times.
        """
        answer: Answer = NotApplicable("nothing was tried")
        try:
            before = self._neighbourhood.way(base.instruction, base.scene)
            for _ in range(TRIES if count > 1 else 1):
                answer = self._several(base, before, kinds, count, rng)
                if isinstance(answer, Perturbed):
                    break
        except ValueError as error:
            return NotApplicable(str(error))
        return answer

    def _several(
        self, base: TestInstance, before: Way, kinds: Sequence[str], count: int, rng: np.random.Generator
    ) -> Answer:
        scene, done = base.scene, []
        for _ in range(count):
            step = self._one(base, before, scene, kinds, done, rng)
            if isinstance(step, NotApplicable):
                return step
            scene, made = step
            done.append(made)
        return self._instance(base, scene, done)

    def edit(self, base: TestInstance, edits: Sequence[str], rng: np.random.Generator) -> Answer:
        """Return the instance with named modifications, such as ``add (On onion_1 plate)``, in their order."""
        scene, done = base.scene, []
        try:
            before = self._neighbourhood.way(base.instruction, base.scene)
            for edit in edits:
                text = self.problem(base.instruction, scene)
                known = {str(each): each for each in modifications(text, self._vocabulary, self._kitchen)}
                if edit not in known:
                    return NotApplicable(f"'{edit}' is no modification of this scene; there are {len(known)}")
                reason = refusal(text, known[edit], self._kitchen)
                made = reason or self._made(base, before, scene, text, known[edit], rng)
                if isinstance(made, str):
                    return NotApplicable(f"'{edit}': {made}")
                scene = made
                done.append(known[edit])
        except ValueError as error:
            return NotApplicable(str(error))
        return self._instance(base, scene, done)

    def _instance(self, base: TestInstance, scene: Scene, done: Sequence[Modification]) -> Answer:
        instance = self._task.make_instance(base.instance_id, base.instruction, scene)
        if isinstance(instance, Infeasible):
            return NotApplicable(f"{', '.join(map(str, done))}: {instance.reason}")
        counts = {kind: float(sum(each.kind == kind for each in done)) for kind in KINDS}
        measures = {**paths(base, instance), "modifications": float(len(done)), **counts}
        return proven(instance, UNCONCERNED, ", ".join(map(str, done)), measures)

    def _one(
        self,
        base: TestInstance,
        before: Way,
        scene: Scene,
        kinds: Sequence[str],
        done: Sequence[Modification],
        rng: np.random.Generator,
    ) -> tuple[Scene, Modification] | NotApplicable:
        """Return the scene after one more modification, and the modification."""
        text = self.problem(base.instruction, scene)
        touched = {each.subject for each in done}
        options = [each for each in self.candidates(base.instruction, scene) if each.subject not in touched]
        reason = f"the text of the scene allows no modification of the kinds {', '.join(kinds)}"
        for kind in (kinds[i] for i in rng.permutation(len(kinds))):
            own = [each for each in options if each.kind == kind]
            for index in rng.permutation(len(own)):
                made = self._made(base, before, scene, text, own[index], rng)
                if isinstance(made, Scene):
                    return made, own[index]
                reason = f"{own[index]}: {made}"
        return NotApplicable(f"no modification can be made; the last that was tried: {reason}")

    def _made(
        self,
        base: TestInstance,
        before: Way,
        scene: Scene,
        text: Problem,
        modification: Modification,
        rng: np.random.Generator,
    ) -> Scene | str:
        """Return the scene after a modification, or why it cannot be made."""
        after = modified(text, modification)
        if modification.kind == TOGGLE:
            made = self._toggled(after, modification.atom, scene, rng)
        else:
            made = self._put(after, modification, scene, rng)
        if isinstance(made, str):
            return made
        said = base.instruction
        unclear = self._task.premise(said, made)
        if unclear is not None:
            return unclear
        if self._task.goals.goal(said, made).satisfied(made):
            return SOLVED
        try:
            way = self._neighbourhood.way(said, made)
        except NoPlan as error:
            return f"it blocks the planner: {error}"
        if not _acts_alike(before, way):
            return "the hand would act in another way"
        # What stood there before is low enough for the part: the scene has been planned.
        swept = (
            isinstance(way, JointWay) and self._is_swept_free(way, base.scene) and not self._is_swept_free(way, made)
        )
        return f"it is in the sweep of '{way.part}'" if swept else made

    def _is_swept_free(self, way: JointWay, scene: Scene) -> bool:
        """Return whether nothing stands in the sweep of the part that the hand moves, whatever its height."""
        return self._neighbourhood.is_free(way.part, scene, self._things.position(scene, way.part), way.goal)

    def _toggled(self, text: Problem, atom: Atom, scene: Scene, rng: np.random.Generator) -> Scene | str:
        part = Names(text, self._kitchen.types).thing(atom.arguments[0], self._things)
        joint = self._things.parts[scene[part].model].joint
        wanted = place_in_state(joint, STATES[atom.predicate], rng)
        if any(other.predicate in (IN, ON) and other.arguments[1] == atom.arguments[0] for other in text.init):
            return f"something is in '{part}'"
        if not self._neighbourhood.is_free(part, scene, self._things.position(scene, part), wanted):
            return f"something is in the sweep of '{part}'"
        return scene.moved(part, part_pose(scene[part.rpartition(PART)[0]].pose, joint, wanted))

    def _put(self, text: Problem, modification: Modification, scene: Scene, rng: np.random.Generator) -> Scene | str:
        """Return the scene with a thing put where the text says, at rest; everything else stays exactly."""
        name, place = modification.atom.arguments
        names = Names(text, self._kitchen.types)
        holder = names.thing(place, self._things)
        if name in scene and self._neighbourhood.bears(name, scene):
            return f"something is in or on '{name}'"
        if modification.atom.predicate == IN and self._is_shut(holder, scene):
            return f"'{holder}' is not open"
        rest = replace(scene, objects=tuple(o for o in scene if o.name != name))
        try:
            pose = self._scenes.place(text, name, rest, rng)
        except NoScene as error:
            return f"expected {error}"
        state = ObjectState(name, names.model(name), pose)
        objects = list(rest.objects)
        first = len(objects) - len(carried(rest, self._things))
        # Its place among the things does not tell that it is new.
        objects.insert(first + int(rng.integers(len(objects) - first + 1)), state)
        put = replace(rest, objects=tuple(objects))
        rested = self.settle(put)
        if rested is None:
            return f"'{name}' does not come to rest there, or is inside another thing"
        far = {a.name: a.pose.distance_to(b.pose) for a, b in zip(put, rested, strict=True)}
        if far.pop(name) > self._p.drawing.settled:
            return f"'{name}' does not stay where it is put"
        pushed = max(far, key=far.__getitem__)
        if far[pushed] > PUSHED:
            return f"it pushes '{pushed}'"
        there = put.moved(name, rested[name].pose)
        kept = Atom(modification.atom.predicate, (name, holder))
        if holder in there and not self._predicates.holds(kept, there):
            return f"'{name}' does not stay there"
        return there

    def _is_shut(self, holder: str, scene: Scene) -> bool:
        """Return whether the part of a cavity, or a door before it, is not open."""
        parts = (holder,) if scene[holder].model in self._things.parts else self._things.parts_of(scene, holder)
        joints = ((self._things.parts[scene[p].model].joint, self._things.position(scene, p)) for p in parts)
        return any(not joint.has("open", position) for joint, position in joints)


def _acts_alike(before: Way, after: Way) -> bool:
    """Return whether the hand closes and opens at the same places; the height between them may differ."""
    if isinstance(before, JointWay) or isinstance(after, JointWay):
        return isinstance(before, JointWay) and replace(before, path=()) == replace(after, path=())
    return (before.grasp, before.place, before.target) == (after.grasp, after.place, after.target)
