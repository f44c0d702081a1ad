"""The documentation site has every page of docs/, and a reference that the code fills."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

sys.path.append(str(Path(__file__).resolve().parents[3]))

from robocontrast_ros.configuration.plugins import registered
from scripts import site


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "pages"
    site.write(folder)
    return folder


def listed(nav) -> list[str]:
    return (
        [nav]
        if isinstance(nav, str)
        else [file for each in nav for file in listed(each)]
        if isinstance(nav, list)
        else [file for each in nav.values() for file in listed(each)]
    )


def test_its_menu_has_every_page_once(pages, checkout):
    menu = listed(yaml.safe_load((checkout / "mkdocs.yml").read_text())["nav"])
    assert sorted(menu) == sorted(file.relative_to(pages).as_posix() for file in pages.rglob("*.md"))


def test_no_link_of_a_page_leads_out_of_the_site(pages):
    for page in pages.rglob("*.md"):
        targets = [target for _, target, _ in site.LINK.findall(page.read_text())]
        assert [target for target in targets if not (page.parent / target).exists()] == [], page


def test_the_reference_has_every_score_perturbation_message_command_and_key(pages, checkout):
    text = {file.stem: file.read_text() for file in (pages / "reference").iterdir()}
    for kind in ("scores", "perturbations"):
        assert [entry.name for entry in registered(kind) if f"`{entry.name}" not in text[kind]] == []
    files = [file for folder in site.INTERFACES for file in (checkout / folder).iterdir()]
    assert files and all(file.read_text().rstrip() in text["interfaces"] for file in files)
    for command in ("evaluate", "compare", "plan", "report", "score"):
        assert f"## `robocontrast {command}`" in text["commands"]
    assert "[cyan]" not in text["commands"]
    for key in ("seed", "test_set.size", "strategy.perturbations", "timeouts.set_up", "cameras.name"):
        assert f"| `{key}` |" in text["session_keys"]
