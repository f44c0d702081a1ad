"""What a session's processes share on a machine where others run, too."""

from __future__ import annotations

from robocontrast_ros.cli.processes import DOMAINS, Domain


def test_sessions_at_the_same_time_are_in_different_domains_and_the_users_own_is_taken_as_it_is(monkeypatch):
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    first, second = Domain(), Domain()
    assert first.number != second.number
    assert {first.number, second.number} <= set(DOMAINS)
    monkeypatch.setenv("ROS_DOMAIN_ID", str(first.number))
    assert Domain().number == first.number
    first.close()
    second.close()
