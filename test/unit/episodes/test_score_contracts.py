"""Every score of the package keeps its contract."""

from language_table_instances import EIGHT
from tabletop_scenes import CLUTTER_FILE, fresh
from vln_scenes import APARTMENT

from robocontrast_ros.contracts.score import ScoreContract
from robocontrast_ros.episodes.scoring import STANDARD
from robocontrast_ros.episodes.scoring.clutter import OF_CLUTTER
from robocontrast_ros.episodes.scoring.events import OF_EVENTS
from robocontrast_ros.episodes.scoring.mistakes import OF_MISTAKES
from robocontrast_ros.episodes.scoring.motion import OF_MOTION

ALL = (*STANDARD, *OF_CLUTTER, *OF_MISTAKES, *OF_EVENTS, *OF_MOTION)
CLUTTERED = fresh(CLUTTER_FILE)


class OnTheTable(ScoreContract):
    def task(self):
        return EIGHT


class InTheApartment(ScoreContract):
    """Where paths are expected, and subgoals."""

    draws = 2

    def task(self):
        return APARTMENT


class AmongDistractors(ScoreContract):
    """Where something is lifted among other things."""

    draws = 2

    def task(self):
        return CLUTTERED


def contract(kind, name):
    """Return the contract of the score of a name."""
    (score,) = [score for score in ALL if score.spec.name == name]
    return type(f"Test_{name}", (kind,), {"make": lambda self: score, "__module__": __name__})


TestCollisions = contract(OnTheTable, "collisions")
TestDistanceToGoal = contract(OnTheTable, "distance_to_goal")
TestMistakes = contract(OnTheTable, "mistakes")
TestMistakesOfAHand = contract(AmongDistractors, "mistakes")
TestMistakesInTheApartment = contract(InTheApartment, "mistakes")
TestNdtw = contract(InTheApartment, "ndtw")
TestPathLength = contract(OnTheTable, "path_length")
TestProgress = contract(OnTheTable, "progress")
TestSpl = contract(OnTheTable, "spl")
TestSubgoalsReached = contract(InTheApartment, "subgoals_reached")
TestSuccess = contract(OnTheTable, "success")
TestSuccessWithoutMistakes = contract(OnTheTable, "success_without_mistakes")
TestSuccessWithoutMistakesOfAHand = contract(AmongDistractors, "success_without_mistakes")
TestSuccessWithoutMistakesInTheApartment = contract(InTheApartment, "success_without_mistakes")
TestHSuccess = contract(AmongDistractors, "h_success")
TestTouchedByRobot = contract(AmongDistractors, "touched_by_robot")
TestTouchedByCarried = contract(AmongDistractors, "touched_by_carried")
TestReached = contract(AmongDistractors, "reached")
TestGrasped = contract(AmongDistractors, "grasped")
TestNearestDistance = contract(AmongDistractors, "nearest_distance")
TestWrongGrasped = contract(AmongDistractors, "wrong_grasped")
TestWrongMoved = contract(AmongDistractors, "wrong_moved")
TestWrongGrasps = contract(AmongDistractors, "wrong_grasps")
TestSeveralGrasped = contract(AmongDistractors, "several_grasped")
TestDropped = contract(AmongDistractors, "dropped")
TestTableHits = contract(AmongDistractors, "table_hits")
TestClosedOnNothing = contract(AmongDistractors, "closed_on_nothing")
TestStartedMoving = contract(OnTheTable, "started_moving")
TestBumped = contract(OnTheTable, "bumped")
TestMovedFar = contract(OnTheTable, "moved_far")
TestTippedOver = contract(AmongDistractors, "tipped_over")
TestOutOfScene = contract(AmongDistractors, "out_of_scene")
TestSparc = contract(AmongDistractors, "sparc")
TestSparcOfABase = contract(InTheApartment, "sparc")
TestMeanSpeed = contract(OnTheTable, "mean_speed")
TestPeakSpeed = contract(OnTheTable, "peak_speed")
TestSquaredJerk = contract(OnTheTable, "squared_jerk")
TestTrackingError = contract(OnTheTable, "tracking_error")


def test_no_score_is_without_a_contract():
    made = [case().make() for kind in (OnTheTable, InTheApartment, AmongDistractors) for case in kind.__subclasses__()]
    assert set(made) == set(ALL)
