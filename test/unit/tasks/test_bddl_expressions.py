"""S-expressions: what is read, and where each mistake is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.tasks.bddl.expressions import Group, Text


def plain(node):
    """An expression as lists of texts."""
    return [plain(item) for item in node.items] if isinstance(node, Group) else node.text


def read(content: str):
    return plain(Text("kitchen.bddl", content).parse())


WORDS = st.text("aB:-_?.'\"1é", min_size=1, max_size=4)
TREES = st.lists(st.recursive(WORDS, lambda inner: st.lists(inner, max_size=4), max_leaves=20), max_size=4)
SPACE = st.sampled_from([" ", "\n", "\t", "\r\n", " ; a ( comment\n", ";)\n\n"])


@st.composite
def written(draw, tree) -> str:
    """A tree as text, with any space and comments in it."""
    if isinstance(tree, str):
        return tree
    parts = [draw(written(item)) for item in tree]
    return f"({draw(SPACE)}" + "".join(part + draw(SPACE) for part in parts) + ")"


@given(st.data())
def test_what_is_written_is_read_whatever_space_and_comments_stand_in_it(data):
    tree = data.draw(TREES)
    assert read(data.draw(SPACE) + data.draw(written(tree)) + data.draw(SPACE)) == tree


@given(st.data())
def test_each_expression_is_shown_in_one_line_that_reads_as_it_does(data):
    text = Text("kitchen.bddl", data.draw(written(data.draw(TREES))))
    node = text.parse()
    shown = text.shown(node)
    assert "\n" not in shown and read(shown) == plain(node)


@given(st.data())
def test_each_word_is_where_its_line_and_column_say(data):
    text = Text("kitchen.bddl", data.draw(written(data.draw(TREES))))
    lines = text.content.split("\n")
    todo = [text.parse()]
    while todo:
        node = todo.pop()
        line, column = text.position(node.at)
        if isinstance(node, Group):
            assert lines[line - 1][column - 1] == "("
            todo += node.items
        else:
            assert lines[line - 1][column - 1 :].startswith(node.text)


def test_letters_keep_their_case_and_quotes_are_letters():
    assert read('(On "The Bowl" it\'s)') == ["On", '"The', 'Bowl"', "it's"]


def test_a_hundred_thousand_brackets_are_read():
    assert Text("deep", "(" * 100_000 + ")" * 100_000).parse().end == 200_000


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        ("(a\n  (b c)\n", "1:1", "got '( without its )', expected a ) for each (. Close it where it ends."),
        ("(a\n  (b c\n", "2:3", "( without its )"),
        ("(a\n))", "2:2", "got ')', expected a ( before each )"),
        ("; (a)\n", "2:1", "got 'the end of the text', expected one expression"),
        ("\n a (b)", "2:2", "got 'a', expected one expression in brackets, and nothing beside it"),
        ("(a)\n\n\t(b\n c)", "3:2", "got '(b c)', expected one expression in brackets, and nothing beside it"),
        ("(a ; )\n", "1:1", "( without its )"),
    ],
)
def test_a_mistake_in_the_brackets_has_a_file_a_line_and_a_column(content, place, words):
    with pytest.raises(ConfigurationError) as caught:
        Text("kitchen.bddl", content).parse()
    assert str(caught.value).startswith(f"kitchen.bddl:{place}: ") and words in str(caught.value)


@pytest.mark.parametrize("word", ["nan", "inf", "1_000", "1e999", "0x10", "1,5", "--1", "1e", "np.pi", "\u0661"])
def test_what_is_no_decimal_number_is_none(word):
    text = Text("kitchen.bddl", f"(a {word})")
    with pytest.raises(ConfigurationError, match=r"kitchen.bddl:1:4: `yaw`: got '.*', expected a number"):
        text.number(text.parse().items[1], "yaw")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_is_read_as_python_writes_it(value):
    text = Text("kitchen.bddl", f"({value!r})")
    assert text.number(text.parse().items[0], "") == value


def test_a_file_that_is_not_there_or_not_utf_8_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"missing\.bddl: got 'No such file"):
        Text.of_file(tmp_path / "missing.bddl")
    (tmp_path / "latin.bddl").write_bytes("(größe)".encode("latin-1"))
    with pytest.raises(ConfigurationError, match=r"latin\.bddl: got 'byte 4, which is not UTF-8', expected UTF-8 text"):
        Text.of_file(tmp_path / "latin.bddl")
    (tmp_path / "marked.bddl").write_bytes(b"\xef\xbb\xbf(a)")
    assert plain(Text.of_file(tmp_path / "marked.bddl").parse()) == ["a"]
