"""The tutorials that need no robot: their files and commands, as they stand."""

from __future__ import annotations

import pytest
from tutorials import PAGES, commands_of, needs_robot, run_commands, write_files


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in PAGES if not needs_robot(page)], ids=lambda page: page.stem)
def test_a_tutorial_works_as_it_stands(page, tmp_path):
    write_files(page, tmp_path)
    run_commands(commands_of(page), tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_is_short(page):
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 200
