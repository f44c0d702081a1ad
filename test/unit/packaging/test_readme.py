"""What a newcomer reads first: short, its links lead somewhere, and its example runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from here import command_here

ROOT = Path(__file__).resolve().parents[3]
PAGES = ("*.md", "docs/*.md", "benchmark/README.md", "models/*/README.md")
LINK = re.compile(r"\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)")
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"^```\w+\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def anchors(text: str) -> set[str]:
    """The names by which headings can be linked to, as GitHub makes them."""
    found: list[str] = []
    for heading in re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")
        found.append(f"{name}-{found.count(name)}" if name in found else name)
    return set(found)


def test_the_readme_has_at_most_120_lines():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_no_page_has_over_300_lines():
    lines = {page.name: len(page.read_text().splitlines()) for page in (ROOT / "docs").glob("*.md")}
    assert {name: number for name, number in lines.items() if number > 300} == {}


@pytest.mark.parametrize(
    "page", [path for pages in PAGES for path in sorted(ROOT.glob(pages))], ids=lambda p: f"{p.parent.name}_{p.stem}"
)
def test_every_link_of_a_document_leads_to_a_file_and_a_heading(page):
    text = page.read_text()
    broken = []
    for target, anchor in LINK.findall(re.sub(r"`[^`\n]*`", "", FENCED.sub("", text))):
        file = page.parent / target if target else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file.read_text())):
            broken.append(f"{target}#{anchor}")
    assert broken == []


def test_the_policy_of_the_readme_runs_as_it_stands(tmp_path, monkeypatch):
    text = (ROOT / "README.md").read_text()
    for name, content in BLOCK.findall(text):
        (tmp_path / name).write_text(content)
    (command,) = re.findall(r"^    PYTHONPATH=\. robocontrast (.*)$", text, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    code, output = command_here(*command.split(), "--max-trials", 1)
    assert code == 0, output
    assert "my_policy" in output
