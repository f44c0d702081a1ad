"""Which action comes next where a policy answers with several at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.episodes.chunks import ChunkedActions


def chunk(*numbers):
    return np.array(numbers, dtype=float)[:, None]


def carried_out(executed, answers, ensemble=None, steps=6):
    """Return the actions of so many steps; the policy is asked when it is wanted."""
    actions, asked, done = ChunkedActions(executed, ensemble), [], []
    for _ in range(steps):
        if actions.wanted:
            asked.append(actions.step)
            actions.add(actions.step, answers(actions.step))
        done.append(float(actions.next()[0]))
    return asked, done


def test_so_many_actions_of_an_answer_are_carried_out_before_the_policy_is_asked_again():
    asked, done = carried_out(2, lambda step: chunk(step, step + 0.1, step + 0.2))
    assert asked == [0, 2, 4]
    assert done == pytest.approx([0, 0.1, 2, 2.1, 4, 4.1])


def test_an_answer_may_be_shorter_than_what_is_carried_out():
    asked, _ = carried_out(4, lambda step: chunk(*[step] * (1 if step % 2 else 2)), steps=5)
    assert asked == [0, 2, 4]


def test_what_an_answer_says_of_a_step_that_has_passed_is_never_carried_out():
    actions = ChunkedActions(2)
    actions.add(0, chunk(0, 1, 2, 3))
    actions.next(), actions.next(), actions.next()
    actions.add(1, chunk(11, 12, 13, 14))
    assert actions.next() == 13, "11 and 12 are late"
    late = ChunkedActions(1)
    late.add(0, chunk(0))
    late.next()
    late.add(0, chunk(100))
    assert late.wanted, "the whole answer is late"
    with pytest.raises(LookupError, match="action step 1"):
        late.next()


def test_ensembling_weighs_answers_as_act_does_the_oldest_most():
    # What three answers say of step 2, weighted 1, exp(-0.5) and exp(-1): Zhao et al. 2023, section IV-A.
    _, done = carried_out(1, lambda step: chunk(*[10.0 * step] * 3), ensemble=0.5, steps=3)
    weights = np.exp([0.0, -0.5, -1.0])
    assert done[2] == pytest.approx(float(weights @ [0.0, 10.0, 20.0] / weights.sum()))


@given(
    st.integers(1, 5),
    st.one_of(st.none(), st.floats(0, 5)),
    st.lists(st.integers(1, 5), min_size=1, max_size=12),
)
def test_every_action_is_one_that_was_announced_for_its_step_or_lies_between_such(executed, ensemble, lengths):
    """Answer k of length n says step + k / 100 of each step, so an action tells which step it was meant for."""
    said: dict[int, list[float]] = {}
    turn = iter(lengths * 12)
    count = iter(range(1000))

    def answer(step):
        shift = next(count) / 1000
        numbers = [step + i + shift for i in range(next(turn))]
        for i, number in enumerate(numbers):
            said.setdefault(step + i, []).append(number)
        return chunk(*numbers)

    asked, done = carried_out(executed, answer, ensemble, steps=12)
    for step, action in enumerate(done):
        if ensemble is None:
            assert action == said[step][-1], "the latest word counts"
        assert min(said[step]) - 1e-9 <= action <= max(said[step]) + 1e-9
    assert all(1 <= b - a <= executed for a, b in pairwise(asked))
