"""Every strategy of the package keeps its contract, on blocks on a line."""

from __future__ import annotations

from line_world import Invert, LineTask, MoveSource

from robocontrast_ros.configuration import plugin_names
from robocontrast_ros.contracts.strategy import StrategyContract
from robocontrast_ros.strategies.adaptive import Adaptive
from robocontrast_ros.strategies.chain import Chain
from robocontrast_ros.strategies.contrast_set import ContrastSet
from robocontrast_ros.strategies.cost_ordered import CostOrdered
from robocontrast_ros.strategies.limited_intervention import LimitedIntervention, LimitedInterventionSkip
from robocontrast_ros.strategies.standard import Standard


class OnTheLine(StrategyContract):
    test_set_size = 20

    def task(self):
        return LineTask()

    def perturbations(self):
        return Invert(), MoveSource()


class TestStandard(OnTheLine):
    def make(self):
        return Standard()


class TestContrastSet(OnTheLine):
    def make(self):
        return ContrastSet()


class TestChain(OnTheLine):
    def make(self):
        return Chain()


class TestCostOrdered(OnTheLine):
    # It plans the path through all that remain again for each trial that is left out.
    test_set_size = 10

    def make(self):
        return CostOrdered()


class TestAdaptive(OnTheLine):
    def make(self):
        return Adaptive()


class TestLimitedIntervention(OnTheLine):
    def make(self):
        return LimitedIntervention()


class TestLimitedInterventionSkip(OnTheLine):
    def make(self):
        return LimitedInterventionSkip()


def test_no_strategy_is_without_a_contract():
    assert sorted(made().make().name for made in OnTheLine.__subclasses__()) == sorted(plugin_names("strategies"))
