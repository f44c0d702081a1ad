"""YAML that seems to say one thing and says another, or that would take all memory, is refused in one line."""

from __future__ import annotations

import pytest
import yaml

from robocontrast_ros.configuration import ConfigurationError, read_yaml, resolve_uri, strict_yaml
from robocontrast_ros.configuration.strict_yaml import MAX_ALIASES, MAX_DEPTH, parse_yaml


def laughs(levels: int, width: int) -> str:
    """Return lists of aliases of lists of aliases …"""
    lines = ["a0: &a0 [x]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: 1\nname: x\nseed: 2", "got \"'seed' twice (line 3, column 1)\", expected each key once"),
        ("handling_times: {taking: 1, taking: 1}", "got \"'taking' twice (line 1, column 29)\""),
        ("[" * 5000 + "]" * 5000, f"expected no more than {MAX_DEPTH} levels of mappings and lists"),
        ("{a: " * 5000 + "1" + "}" * 5000, f"expected no more than {MAX_DEPTH} levels"),
        (laughs(levels=20, width=9), f"(line 4, column 20)', expected no more than {MAX_ALIASES} aliases"),
        ("cameras: &c [*c]", "got '*c within &c (line 1, column 14)'"),
        ("seed: " + "7" * 5000, "expected what YAML can read as int"),
        (
            "day: 2001-99-99",
            "got \"'2001-99-99' (line 1, column 6)\", expected what YAML can read as timestamp",
        ),
        ("speed: 1:30", "got \"'1:30' (line 1, column 8)\", expected a decimal number, or a text in quotes"),
        ("speed: [0.5, 1:30.5]", "expected a decimal number, or a text in quotes"),
        ("fast: !!bool x", "expected what YAML can read as bool"),
        ("seed: !!int ''", "expected what YAML can read as int"),
        ("a: [1", "expected valid YAML"),
        ("a: b\0c", "got 'special characters are not allowed', expected valid YAML"),
    ],
)
def test_a_text_that_does_not_mean_what_it_seems_to_is_refused_in_one_line(tmp_path, text, message):
    path = tmp_path / "file.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_yaml(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: got ")
    assert message in said
    assert "\n" not in said
    assert len(said) < 400


def test_a_few_aliases_and_merged_keys_are_yaml():
    text = "usual: &usual {width: 64, height: 48}\nboard: {<<: *usual, height: 64}\nwrist: *usual\n"
    assert parse_yaml(text, "file") == {
        "usual": {"width": 64, "height": 48},
        "board": {"width": 64, "height": 64},
        "wrist": {"width": 64, "height": 48},
    }
    deep = parse_yaml("[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1), "file")
    assert str(deep).count("[") == MAX_DEPTH - 1


@pytest.mark.parametrize("text", ["a: 1\t", "{a?: b}", "- [!, 2]", "- |#<", "\ufeffa: [1, 2]\n\ufeff"])
def test_what_the_two_parsers_of_yaml_read_differently_is_read_by_the_strict_one(text):
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(text)
    with pytest.raises(ConfigurationError):
        parse_yaml(text, "file")


def test_a_tag_without_a_name_is_read_as_python_reads_it():
    assert parse_yaml("- 1\n- !\n", "file") == yaml.safe_load("- 1\n- !\n") == [1, None]


def test_the_fast_parser_reads_every_parameter_file_as_the_other_does():
    if strict_yaml._FastLoader is None:
        pytest.skip("PyYAML without libyaml")
    files = sorted(resolve_uri("package://robocontrast_ros/config").rglob("*.yaml"))
    assert len(files) > 100
    for file in files:
        text = file.read_text()
        assert repr(yaml.load(text, strict_yaml._FastLoader)) == repr(yaml.load(text, strict_yaml._Loader)), file


def test_what_a_reader_changes_is_not_what_the_next_one_gets():
    parse_yaml("names: [a]", "here")["names"].append("b")
    assert parse_yaml("names: [a]", "there") == {"names": ["a"]}
