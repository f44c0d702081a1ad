"""The loop of a session, on blocks on a line."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from line_world import BLOCKS, LineBench, LineTask, line, line_evaluation, x_of

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import BASE, Fault, Outcome, Pose, Start
from robocontrast_ros.episodes.bench import BenchFault, SetByPerson
from robocontrast_ros.runs.events import (
    Paused,
    ProcessDied,
    Resumed,
    SessionInterrupted,
    SetUp,
    SpeedScalingNoted,
    TrialFinished,
    TrialStarted,
    TrialVoid,
)
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.control import SessionControl, SessionState, end_line
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.seeding import trial_seed
from robocontrast_ros.strategies.effort import Tolerance
from robocontrast_ros.strategies.standard import Standard
from robocontrast_ros.strategies.visit_order import in_cheapest_order
from robocontrast_ros.worlds.backends import BackendFeatures


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def of(path, kind):
    return [event for event in read_journal(path).events if isinstance(event, kind)]


def test_every_trial_is_set_up_started_and_finished_in_the_journal_before_the_next(path):
    end = run_session(line_evaluation(), LineBench(), path)
    assert (end.reason, end.event) == ("all_trials", "session_finished")
    events = [e for e in read_journal(path).events if isinstance(e, (SetUp, TrialStarted, TrialFinished))]
    kinds = [type(e) for e in events]
    assert kinds == [SetUp, TrialStarted, TrialFinished] * (len(events) // 3)
    indices = [e.trial.index for e in events]
    assert indices == [i for i in range(len(events) // 3) for _ in range(3)]


def test_the_journal_is_on_the_disk_before_the_bench_moves_on(path):
    seen = []
    bench = LineBench(on_call=lambda call: seen.append((call, len(read_journal(path).events))))
    run_session(line_evaluation(test_set_size=1, perturbations=(), strategy=Standard()), bench, path)
    assert seen == [("scene", 1), ("set_up", 1), ("execute", 3)]


def test_the_first_line_says_what_was_run_with_which_seed_and_versions(path):
    evaluation = line_evaluation(budget=12.0)
    run_session(evaluation, LineBench(), path, clock=lambda: 5.0)
    started = read_journal(path).started
    assert (started.session, started.seed, started.budget, started.time) == ("line", 1, 12.0, 5.0)
    assert started.parameters == evaluation.parameters
    assert {"robocontrast_ros", "numpy"} <= set(started.versions)


def test_the_cost_is_computed_from_the_scene_that_actually_is(path):
    bench = LineBench()
    run_session(line_evaluation(), bench, path)
    scene = line(a=0.02, b=0.2, c=0.4, d=0.98)
    for event in (e for e in read_journal(path).events if isinstance(e, (SetUp, TrialFinished))):
        if isinstance(event, SetUp):
            assert event.before == scene
            metres = sum(abs(x_of(scene, n) - x_of(event.target, n)) for n in BLOCKS)
            assert event.cost == pytest.approx(metres)
        else:
            scene = event.result.final_scene


def test_what_somebody_moved_between_trials_counts(path):
    def kicked(trial, scene):
        return scene.moved("d", Pose((5.0, 0.0, 0.0))) if trial.index == 0 else scene

    run_session(line_evaluation(), LineBench(after_trial=kicked), path)
    second = of(path, SetUp)[1]
    assert x_of(second.before, "d") == 5.0
    assert second.cost > 4.0


def test_the_noise_of_reading_a_scene_twice_costs_nothing(path):
    def trembling(trial, scene):
        return scene.moved("d", Pose((x_of(scene, "d") + 1e-4, 0.0, 0.0)))

    evaluation = line_evaluation(tolerance=Tolerance(0.002, 0.05))
    run_session(evaluation, LineBench(), path)
    noisy = path.with_name("noisy.jsonl")
    run_session(evaluation, LineBench(after_trial=trembling), noisy)
    assert [e.cost for e in of(noisy, SetUp)] == [e.cost for e in of(path, SetUp)]


def test_language_perturbations_move_nothing_in_the_scene_that_resulted(path):
    run_session(line_evaluation(test_set_size=12), LineBench(), path)
    costs = [e.cost for e in of(path, SetUp) if e.trial.perturbation == "LB2" and "back in" not in e.trial.note]
    assert costs
    assert set(costs) == {0.0}


def test_a_set_up_that_would_exceed_the_budget_is_not_made_and_ends_the_session(path):
    unlimited = path.with_name("unlimited.jsonl")
    run_session(line_evaluation(), LineBench(), unlimited)
    costs = [e.cost for e in of(unlimited, SetUp)]
    budget = math.fsum(costs[:4]) + costs[4] / 2
    assert costs[4] > 0.0
    bench = LineBench()
    end = run_session(line_evaluation(budget=budget), bench, path)
    assert end.reason == "budget"
    assert end.detail.startswith(f"the budget of {budget:g} m does not allow the next set-up: {costs[4]:.3f} m")
    assert len(bench.moved) == len(of(path, TrialFinished)) == 4
    assert math.fsum(e.cost for e in of(path, SetUp)) <= budget


def test_a_budget_that_is_spent_to_the_last_metre_allows_what_costs_nothing(path):
    unlimited = path.with_name("unlimited.jsonl")
    run_session(line_evaluation(test_set_size=12), LineBench(), unlimited)
    setups = of(unlimited, SetUp)
    free = next(i for i, e in enumerate(setups) if e.cost == 0.0)
    run_session(line_evaluation(test_set_size=12, budget=sum(e.cost for e in setups[:free])), LineBench(), path)
    assert len(of(path, TrialFinished)) == free + 1


def test_a_session_ends_after_max_trials(path):
    end = run_session(line_evaluation(max_trials=3), LineBench(), path)
    assert (end.reason, end.detail) == ("max_trials", "max_trials: 3 trials are done")
    assert len(of(path, TrialFinished)) == 3


def test_a_fault_of_the_policy_counts_as_failed_and_the_session_goes_on(path):
    run_session(line_evaluation(), LineBench(policy_faults=1.0), path)
    finished = of(path, TrialFinished)
    assert len(finished) > 4
    assert {(e.result.outcome, e.result.fault) for e in finished} == {(Outcome.POLICY_FAULT, Fault.POLICY_RAISED)}
    assert {e.result.success for e in finished} == {0.0}


def test_a_void_trial_is_tried_again_from_the_same_start_and_its_set_ups_are_paid(path):
    bench = LineBench(faults={(1, 0): Fault.SENSOR_LOST, (1, 1): Fault.SCORER_LOST})
    assert run_session(line_evaluation(), bench, path).reason == "all_trials"
    starts = [start for trial, _, start in bench.executed if trial.index == 1]
    assert len(starts) == 3
    assert len(set(starts)) == 1
    assert len({trial for trial, _, _ in bench.executed if trial.index == 1}) == 1
    voids = of(path, TrialVoid)
    assert [(v.attempt, v.fault, v.detail) for v in voids] == [
        (0, Fault.SENSOR_LOST, "injected"),
        (1, Fault.SCORER_LOST, "injected"),
    ]
    setups = [e.cost for e in of(path, SetUp) if e.trial.index == 1]
    finished = of(path, TrialFinished)[1]
    assert len(setups) == 3
    assert min(setups[1:]) > 0.0
    assert (finished.attempt, finished.cost) == (2, pytest.approx(math.fsum(setups)))


def test_a_trial_that_stays_void_stops_the_session_with_the_cause_and_it_can_be_resumed(path):
    faults = {(1, attempt): Fault.RECORDER_LOST for attempt in range(3)}
    end = run_session(line_evaluation(), LineBench(faults=faults), path)
    assert isinstance(end, SessionInterrupted)
    assert end.fault is Fault.RECORDER_LOST
    assert end.detail == (
        "trial 0001 was void 3 times in a row, the last time because of RECORDER_LOST: injected. "
        "Fix the cause, then resume the session."
    )
    assert run_session(line_evaluation(), LineBench(), path, resume=True).reason == "all_trials"


@pytest.mark.parametrize("fault", [Fault.SIMULATOR_LOST, Fault.POLICY_SERVER_LOST, Fault.ABORTED])
def test_a_lost_simulator_or_policy_server_or_an_abort_ends_the_session_at_once(path, fault):
    bench = LineBench(faults={(1, 0): fault})
    end = run_session(line_evaluation(), bench, path)
    assert (end.event, end.fault) == ("session_interrupted", fault)
    assert len(bench.executed) == 2
    assert [type(e) for e in read_journal(path).events[-2:]] == [TrialVoid, SessionInterrupted]


def test_a_set_up_that_fails_is_tried_again(path):
    calls = iter(range(100))

    def failing(call):
        if call == "set_up" and next(calls) == 0:
            raise BenchFault(Fault.SETUP_FAILED, "block a is 0.3 m off")

    assert run_session(line_evaluation(), LineBench(on_call=failing), path).reason == "all_trials"
    assert [v.detail for v in of(path, TrialVoid)] == ["block a is 0.3 m off"]


def test_a_premise_that_is_false_in_the_scene_as_read_back_makes_the_trial_void(path):
    class Cautious(LineTask):
        def premise(self, instruction, scene):
            source = instruction.get("source")
            return None if x_of(scene, source) < 5.0 else f"the block {source} is gone"

    class Slippery(LineBench):
        def set_up(self, target, moves):
            super().set_up(target, moves)
            if len(self.moved) == 1:
                gone = next(i for i in evaluation.test_set() if i.scene == target).instruction.get("source")
                self.present = target.moved(gone, Pose((9.0, 0.0, 0.0)))
            return self.present

    evaluation = line_evaluation(task=Cautious(), strategy=Standard(), perturbations=())
    bench = Slippery()
    assert run_session(evaluation, bench, path).reason == "all_trials"
    (void,) = of(path, TrialVoid)
    assert void.fault is Fault.PREMISE_FALSE
    assert "makes no sense in the scene as it was read back: the block" in void.detail
    assert len(bench.executed) == len(evaluation.test_set())


def test_a_scene_that_solves_the_instance_when_it_is_read_back_is_never_run(path):
    class Slippery(LineBench):
        def set_up(self, target, moves):
            super().set_up(target, moves)
            instance = next(i for i in evaluation.test_set() if i.scene == target)
            self.present = LineTask().planner.plan(instance.instruction, target).final_scene
            return self.present

    evaluation = line_evaluation(strategy=Standard(), perturbations=(), void_retries=0)
    bench = Slippery()
    end = run_session(evaluation, bench, path)
    assert end.fault is Fault.SETUP_FAILED
    assert "the goal holds already in the scene as it was read back" in end.detail
    assert bench.executed == []


class StoppedBench(LineBench):
    """Its robot is stopped in the first attempts of its first trial, and released when somebody waits."""

    def __init__(self, stops: int) -> None:
        super().__init__()
        self.left, self.on, self.waits = stops, False, 0

    def stopped(self):
        return "stopped by a person: smoke" if self.on else ""

    def await_release(self):
        self.on, self.waits = False, self.waits + 1
        return "Ada Lovelace"

    def execute(self, trial, attempt):
        assert not self.on, "nothing is tried while it is stopped"
        if self.left:
            self.left, self.on = self.left - 1, True
            raise BenchFault(Fault.ROBOT_STOPPED, self.stopped())
        return super().execute(trial, attempt)


def test_a_session_waits_until_a_stopped_robot_is_released_and_burns_no_attempt(path):
    bench = StoppedBench(stops=5)
    evaluation = line_evaluation(test_set_size=1, perturbations=(), strategy=Standard(), void_retries=0)
    assert run_session(evaluation, bench, path).reason == "all_trials"
    assert [e.fault for e in of(path, TrialVoid)] == [Fault.ROBOT_STOPPED] * 5
    assert [e.detail for e in of(path, Paused)] == ["stopped by a person: smoke"] * 5
    assert [e.by for e in of(path, Resumed)] == ["Ada Lovelace"] * 5, "who released it is kept"
    assert (bench.waits, len(bench.executed)) == (5, 1)


class SlowedBench(LineBench):
    """Its robot's slider is down."""

    def speed_scaling(self):
        return "speed scaling: 20 % of full speed"

    def execute(self, trial, attempt):
        return replace(super().execute(trial, attempt), speed_scaling=0.2)


def test_what_slows_the_robot_is_in_the_journal_before_the_first_trial_and_after_each_resume(path):
    evaluation = line_evaluation(test_set_size=1, perturbations=(), strategy=Standard())
    for number, resume in enumerate((False, True), start=1):
        with pytest.raises(RuntimeError):
            run_session(evaluation, Failing(), path, resume=resume)
        assert [e.detail for e in of(path, SpeedScalingNoted)] == ["speed scaling: 20 % of full speed"] * number
    assert run_session(evaluation, SlowedBench(), path, resume=True).reason == "all_trials"
    (trial,) = of(path, TrialFinished)
    assert trial.speed_scaling == 0.2
    kinds = [type(event) for event in read_journal(path).events]
    assert kinds.index(SpeedScalingNoted) < kinds.index(SetUp), "before anything is set up"


class Failing(SlowedBench):
    """It fails when a trial is to be executed."""

    def execute(self, trial, attempt):
        raise RuntimeError("a bug")


class BenchWithAnArm(LineBench):
    """Its arm cannot go home after its first trial, nor when a person has moved it only once."""

    def __init__(self) -> None:
        super().__init__()
        self.away, self.tries = 0, 0

    def not_home(self):
        return f"the robot could not go home: {self.away}" if self.away else ""

    def go_home(self):
        self.tries, self.away = self.tries + 1, self.away - 1

    def set_up(self, target, moves):
        assert not self.away, "nobody sets a scene up under the arm"
        return super().set_up(target, moves)

    def execute(self, trial, attempt):
        found = super().execute(trial, attempt)
        self.away = 2 if len(self.executed) == 1 else 0
        return found


def test_a_session_waits_until_a_person_has_moved_a_robot_that_cannot_go_home(path):
    control, bench, shown = SessionControl(), BenchWithAnArm(), []

    def observer(status):
        if status.state is SessionState.PAUSED:
            assert bench.tries == len(shown), "it moves when the session goes on, not before"
            shown.append(status.detail)
            control.resume()

    evaluation = line_evaluation(test_set_size=2, perturbations=(), strategy=Standard())
    assert run_session(evaluation, bench, path, control=control, observer=observer).reason == "all_trials"
    assert shown == ["the robot could not go home: 2", "the robot could not go home: 1"]
    assert [e.detail for e in of(path, Paused)] == shown and len(of(path, Resumed)) == 2
    assert (bench.tries, len(bench.executed)) == (2, 2)


def test_a_session_whose_robot_finds_no_way_to_the_start_waits_for_a_person_and_burns_no_attempt(path):
    control, bench = SessionControl(), BenchWithAnArm()
    execute = bench.execute

    def stuck(trial, attempt):
        if attempt < 3:
            bench.away = 1
            raise BenchFault(Fault.ROBOT_NOT_READY, "no way")
        return execute(trial, attempt)

    bench.execute = stuck

    def observer(status):
        if status.state is SessionState.PAUSED:
            control.resume()

    evaluation = line_evaluation(test_set_size=1, perturbations=(), strategy=Standard(), void_retries=0)
    assert run_session(evaluation, bench, path, control=control, observer=observer).reason == "all_trials"
    assert len(of(path, Paused)) == len(of(path, TrialVoid)) == 3


def test_an_abort_ends_a_session_that_waits_for_a_robot_to_be_moved(path):
    control, bench = SessionControl(), BenchWithAnArm()

    def observer(status):
        if status.state is SessionState.PAUSED:
            control.abort("Ctrl-C")

    evaluation = line_evaluation(test_set_size=2, perturbations=(), strategy=Standard())
    end = run_session(evaluation, bench, path, control=control, observer=observer)
    assert (end.fault, bench.tries, len(bench.executed)) == (Fault.ABORTED, 0, 1)


def test_pausing_waits_between_trials_and_going_on_finishes_the_session(path):
    control, paused = SessionControl(), threading.Event()
    states = []

    def observer(status):
        states.append(status.state)
        if status.state is SessionState.PAUSED:
            paused.set()

    bench = LineBench(after_trial=lambda trial, scene: (control.pause() if trial.index == 1 else None, scene)[1])
    runner = threading.Thread(
        target=run_session,
        args=(line_evaluation(), bench, path),
        kwargs={"control": control, "observer": observer},
    )
    runner.start()
    assert paused.wait(60.0)
    assert len(of(path, TrialFinished)) == 2
    control.resume()
    runner.join(10.0)
    assert not runner.is_alive()
    assert [type(e) for e in read_journal(path).events if isinstance(e, (Paused, Resumed))] == [
        Paused,
        Resumed,
    ]
    assert states[-1] is SessionState.FINISHED


def test_an_abort_ends_a_paused_session_and_the_reason_is_kept(path):
    control = SessionControl()
    control.pause()
    bench = LineBench()

    def observer(status):
        if status.state is SessionState.PAUSED:
            control.abort("Ctrl-C")

    end = run_session(line_evaluation(), bench, path, control=control, observer=observer)
    assert (end.fault, end.detail) == (Fault.ABORTED, "Ctrl-C")
    assert bench.executed == []


def test_the_observer_is_told_the_instruction_the_outcome_the_budget_and_the_time_left(path):
    seen = []
    run_session(line_evaluation(budget=100.0), LineBench(), path, observer=seen.append)
    running = [s for s in seen if s.detail == "running"]
    done = [s for s in seen if s.result is not None]
    assert [s.trial.index for s in running] == list(range(len(running)))
    assert math.isnan(running[0].time_left)
    assert all(s.result.outcome.name.lower().replace("_", " ") == s.detail for s in done[:-1])
    last = seen[-1]
    assert (last.state, last.trials_done, last.time_left) == (SessionState.FINISHED, len(running), 0.0)
    assert last.trials_expected == last.trials_done
    assert last.budget.spent == pytest.approx(math.fsum(e.cost for e in of(path, SetUp)))
    assert seen[1].time_left != seen[1].time_left
    assert done[0].time_left == pytest.approx(0.25 * (done[0].trials_expected - 1))


def test_the_time_left_has_the_set_ups_of_a_person(path):
    class Operated(LineBench):
        def set_by_person(self):
            return SetByPerson(60.0)

    seen = []
    run_session(line_evaluation(budget=100.0), Operated(), path, observer=seen.append)
    first = next(s for s in seen if s.result is not None)
    assert first.time_left == pytest.approx(60.25 * (first.trials_expected - 1))


def test_an_error_in_our_own_code_is_written_down_and_raised(path):
    def broken(call):
        if call == "execute":
            raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        run_session(line_evaluation(), LineBench(on_call=broken), path)
    end = read_journal(path).events[-1]
    assert (end.event, end.fault, end.detail) == (
        "session_interrupted",
        Fault.NONE,
        "ZeroDivisionError: a bug",
    )
    assert run_session(line_evaluation(), LineBench(), path, resume=True).reason == "all_trials"


def test_a_resumed_session_restores_the_start_of_the_void_trial_at_no_cost(path):
    run_session(line_evaluation(), LineBench(faults={(2, 0): Fault.SIMULATOR_LOST}), path)
    bench = LineBench()
    run_session(line_evaluation(), bench, path, resume=True)
    restored = [e for e in of(path, SetUp) if e.restore]
    assert [(e.trial.index, e.cost) for e in restored] == [(2, 0.0)]
    assert restored[0].target == bench.executed[0][0].instance.scene
    assert bench.executed[0][0].index == 2
    assert bench.executed[0][1] == 1
    assert [e.cost for e in of(path, SetUp) if e.trial.index == 2][1:] == [0.0, 0.0]


def test_a_process_that_ended_without_a_word_is_written_down_when_its_session_is_resumed(path):
    class Killed(BaseException):
        pass

    def kill(call):
        if call == "execute":
            raise Killed

    with pytest.raises(Killed):
        run_session(line_evaluation(), LineBench(on_call=kill), path)
    with path.open("ab") as file:
        file.write(b'{"torn')
    run_session(line_evaluation(), LineBench(), path, resume=True)
    events = read_journal(path).events
    died = events.index(of(path, ProcessDied)[0])
    assert "cut off after 6 bytes" in events[died].detail
    assert (events[died + 1].event, events[died + 1].fault) == ("trial_void", Fault.ABORTED)
    assert events[died + 2] == Resumed(True, events[died + 2].time)


def test_resuming_a_finished_session_changes_nothing_and_says_how_it_ended(path):
    end = run_session(line_evaluation(), LineBench(), path)
    before = path.read_bytes()
    bench = LineBench()
    assert run_session(line_evaluation(), bench, path, resume=True) == end
    assert bench.executed == []
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("present", "message"),
    [
        (
            {"session": {"seed": 2, "strategy": {"name": "contrast_set"}}},
            "`session.seed`: got 2, expected 1, with which",
        ),
        (
            {"session": {"seed": 1, "strategy": {"name": "standard"}}},
            "`session.strategy.name`: got 'standard', expected 'contrast_set'",
        ),
        ({"session": {"seed": 1}}, "`session.strategy`: got None"),
        (
            {"session": {"seed": 1, "strategy": {"name": "contrast_set"}}, "robot": {}},
            "`robot`: got {}, expected None",
        ),
    ],
)
def test_resuming_with_other_parameters_is_refused_by_the_key_that_differs(path, present, message):
    run_session(line_evaluation(max_trials=1), LineBench(), path)
    bench = LineBench()
    with pytest.raises(ConfigurationError) as caught:
        run_session(line_evaluation(max_trials=1, parameters=present), bench, path, resume=True)
    assert message in str(caught.value)
    assert "Set it back to resume the session" in str(caught.value)


def test_a_log_has_a_line_for_each_trial_and_each_void_attempt_and_no_other(path):
    seen, lines = [None], []

    def observer(status):
        lines.append(status.ended(seen[-1]))
        seen.append(status)

    evaluation = line_evaluation(test_set_size=2, perturbations=(), strategy=Standard())
    run_session(evaluation, LineBench(faults={(1, 0): Fault.ROBOT_FAULT}), path, observer=observer)
    first, second = of(path, TrialFinished)
    words = [f"{e.trial.trial_id} {BASE} “{e.trial.instance.instruction.text}”" for e in (first, second)]
    assert [line for line in lines if line] == [
        f"trial 1 of 2: {words[0]}: {first.result.outcome.name.lower()}",
        f"attempt: {words[1]}: void: injected",
        f"trial 2 of 2: {words[1]}: {second.result.outcome.name.lower()}",
    ]


def test_a_trial_in_which_the_user_interrupts_says_so_in_journal_and_log_with_how_to_resume(path):
    control = SessionControl()
    bench = LineBench(
        faults={(0, 0): Fault.ABORTED},
        on_call=lambda call: control.abort("interrupted by the user") if call == "execute" else None,
    )
    end = run_session(line_evaluation(), bench, path, control=control)
    assert [(e.fault, e.detail) for e in of(path, TrialVoid)] == [(Fault.ABORTED, "interrupted by the user")]
    assert of(path, SessionInterrupted)[-1].detail == "interrupted by the user"
    line = end_line(end, Path("/runs/my run"))
    assert line.startswith("interrupted by the user; ")
    assert "evaluate.launch.py resume:='/runs/my run', or robocontrast evaluate --resume '/runs/my run'" in line
    finished = run_session(line_evaluation(), LineBench(), path, resume=True)
    assert "resume" not in end_line(finished, Path("/runs/my run"))


def test_resuming_when_the_software_proposes_other_trials_is_refused(path):
    run_session(line_evaluation(), LineBench(faults={(2, 0): Fault.ABORTED}), path)
    with pytest.raises(ValueError, match=r"trial 0001: the journal has .* the software has changed since"):
        run_session(line_evaluation(perturbations=()), LineBench(), path, resume=True)


def test_trial_seeds_are_stable_differ_from_instance_to_instance_and_are_32_bit_numbers():
    assert trial_seed(0, "x0000", 0) == trial_seed(0, "x0000", 0)
    keys = [(s, b, r) for s in range(3) for b in ("x0", "x1") for r in range(3)]
    seeds = [trial_seed(*key) for key in keys]
    assert len(set(seeds)) == len(keys)
    assert all(0 <= seed < 2**32 for seed in seeds)
    # Pinned: a changed derivation would silently make old runs impossible to repeat.
    assert trial_seed(0, "x0000", 0) == 3515704113


def test_a_base_trial_and_its_perturbed_trials_have_the_same_seed_and_no_other_trial_has(path):
    run_session(line_evaluation(test_set_size=4, repeats=2), LineBench(), path)
    trials = [e.trial for e in of(path, TrialFinished)]
    seeds = {
        (t.base_id, t.repeat): {u.seed for u in trials if (u.base_id, u.repeat) == (t.base_id, t.repeat)}
        for t in trials
    }
    assert all(len(of_twins) == 1 for of_twins in seeds.values())
    assert len(set.union(*seeds.values())) == len(seeds)
    assert {t.perturbation for t in trials} > {BASE}


def test_nothing_that_the_policy_sees_names_the_perturbation(path):
    bench = LineBench()
    run_session(line_evaluation(test_set_size=10), bench, path)
    for trial, _, _ in bench.executed:
        seen = f"{trial.instance.instruction.text} {trial.seed}"
        assert not any(name in seen for name in ("LB", "SB", "base", "Δ", trial.base_id))


def test_a_larger_test_set_holds_the_smaller_one_and_every_strategy_gets_the_same():
    small, large = (line_evaluation(test_set_size=n).test_set() for n in (5, 12))
    assert set(small) <= set(large)
    assert line_evaluation(test_set_size=5, strategy=Standard(), perturbations=()).test_set() == small
    assert [i.instance_id for i in large] != sorted(i.instance_id for i in large)


def test_a_test_set_of_some_families_holds_those_alone():
    drawn = line_evaluation(test_set_size=20, families=("block_to_block",)).test_set()
    assert {i.instruction.family for i in drawn} == {"block_to_block"}
    assert len({i.instruction.family for i in line_evaluation(test_set_size=20).test_set()}) == 2


def test_what_moves_while_the_robot_goes_to_rest_stays_where_it_is_and_is_not_put_back(path):
    def slid(trial, scene):
        return scene.moved("c", Pose((x_of(scene, "c") + 0.003, 0.0, 0.0)))

    bench = LineBench(after_trial=slid, rests=True)
    run_session(line_evaluation(), bench, path)
    trials = of(path, TrialFinished)
    assert all(x_of(e.left, "c") == x_of(e.result.final_scene, "c") + 0.003 for e in trials)
    moves = {e.trial.index: {move.name for move in e.moves} for e in of(path, SetUp)}
    perturbed = [e.trial for e in trials if e.trial.start is Start.LEFT]
    assert perturbed
    for trial in perturbed:
        assert moves[trial.index] == {trial.instance.instruction.get("source")}, "what is perturbed, and nothing else"


def test_a_person_is_told_the_moves_in_the_cheapest_order_and_a_simulator_as_they_come(path, tmp_path):
    far = LineBench(present=line(a=0.9, b=0.2, c=0.7, d=0.98))
    told = LineBench(present=far.present)
    run_session(line_evaluation(test_set_size=1), far, path)
    run_session(
        line_evaluation(test_set_size=1, features=BackendFeatures(person=True)), told, tmp_path / "person.jsonl"
    )
    assert sorted(m.name for m in far.moved[0]) == sorted(m.name for m in told.moved[0])
    assert far.moved[0] != told.moved[0] == in_cheapest_order(far.moved[0], None)
