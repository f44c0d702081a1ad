"""All code of the documents is held: files are read, commands parsed, Python run, output compared, trees looked up.

A tutorial's files and commands are run by `test_tutorials.py`, those of a package of one's own by `test_extending.py`.
What cannot be checked has a comment `unchecked: REASON` above it. Python with `not run: REASON` above it has to be
grammatical and to import what there is, but it is not run.
"""

from __future__ import annotations

import ast
import importlib
import itertools
import re
import shutil
import sys
from functools import cache
from pathlib import Path

import extending_page
import pytest
import typer
import yaml
from described_policies import write_described
from here import command_here
from kitchen_problems import BOWL_ON_PLATE
from snippets import ROOT, snippets, snippets_of, words

sys.path.append(str(ROOT))

from robocontrast_ros.analysis.data import golden as digests
from robocontrast_ros.bags.definitions import find_definition
from robocontrast_ros.cli.main import app
from robocontrast_ros.cli.options import SETTING
from robocontrast_ros.configuration import (
    ConfigurationError,
    load_record,
    parse_record,
    parse_settings,
)
from robocontrast_ros.configuration.files import find_file, is_path, known_names
from robocontrast_ros.configuration.loading import read_mapping
from robocontrast_ros.configuration.minilm import minilm_folder
from robocontrast_ros.graph.launch_arguments import ARGUMENTS
from robocontrast_ros.messages.topics import STOP_TOPICS
from robocontrast_ros.objects.library import load_object
from robocontrast_ros.objects.schema import ObjectFile
from robocontrast_ros.policies.loading import describe
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.sessions.overrides import OPTIONS, Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.studies.claims import Claims
from robocontrast_ros.studies.parameters import load_study
from robocontrast_ros.studies.understanding import load_check
from robocontrast_ros.system.starting import FORK_SERVER, NONE
from robocontrast_ros.tasks.recorded import load_instances
from robocontrast_ros.tasks.suite.files import read_scene
from robocontrast_ros.worlds.table_camera import FixedTagsFile, TagsFile

MOST_UNCHECKED = 12
"""Number of blocks that are not checked, or not run."""

ALL = snippets()
BLOCKS = [each for each in ALL if not each.inline]
EXTENDING = extending_page.blocks()
ELSEWHERE = {*EXTENDING.values()}
ELSEWHERE |= {each.text for each in BLOCKS if each.page.name.startswith("tutorial_") and each.name}
HERE = [each for each in BLOCKS if each.marker != "unchecked" and each.text not in ELSEWHERE]

MESSAGE = re.compile(r"error: |golden digest")
KEY = re.compile(r"\w+:( |$)", re.MULTILINE)
TREE = re.compile(r"\S+/(\s|$)", re.MULTILINE)


def of_kind(block):
    """Return which kind of code a block is; empty if it is none that is held here."""
    if block.commands:
        return "commands"
    if block.language in ("yaml", "python", "mermaid"):
        return block.language
    text = "" if block.language else block.text
    kinds = {"message": MESSAGE, "yaml": KEY, "tree": TREE}
    return next((kind for kind, begins in kinds.items() if begins.match(text)), "")


def blocks_of(kind, wanted=lambda block: True, dear=None):
    """Return the argument of a test for each block of a kind that is wanted; `dear` is found in those marked long."""
    marks = {True: [pytest.mark.long], False: []}
    blocks = [block for block in HERE if of_kind(block) == kind and wanted(block)]
    params = [
        pytest.param(block, id=str(block), marks=marks[bool(dear and re.search(dear, block.text))]) for block in blocks
    ]
    return pytest.mark.parametrize("block", params)


def test_every_block_is_held_or_says_why_not_and_few_do():
    assert [str(each) for each in HERE if not of_kind(each)] == []
    assert sum(bool(each.marker) for each in BLOCKS) <= MOST_UNCHECKED


# Files that a page gives


@cache
def files_of(page):
    """Return name -> text of the files that a page gives, and of the README's, which pages go on from."""
    given = [*snippets_of(ROOT / "README.md"), *snippets_of(page)]
    return {each.name: each.text for each in given if each.name and not each.inline and each.marker != "unchecked"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory, from which modules are imported that are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file is None or Path(file).is_relative_to(tmp_path):
            del sys.modules[name]


def fill(folder, page):
    """Write the files of a page, and those that a person or another command writes."""
    for name, text in files_of(page).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "vocabulary.txt").write_text("push the moon\n")
    (folder / "camera.yaml").touch()  # by `robocontrast calibrate`
    shutil.copy(known_names("policies")["random"], folder / "mine.yaml")
    shutil.copy(minilm_folder() / "tokenizer.json", folder / "tokenizer.json")


def session_with(content, page):
    """Return a shipped session with other keys: one of those that the page names, the demo last."""
    known, errors = known_names("sessions"), []
    named = [word for word in re.findall(r"[a-z]\w+", page.read_text(encoding="utf-8")) if word in known]
    # Some keys take the place of the policy.
    for name, other in itertools.product(dict.fromkeys([*named, "language_table_demo"]), ({}, {"policy": ""})):
        try:
            return resolve(name, Overrides(settings=content | other))
        except ConfigurationError as error:
            errors.append(str(error))
    raise AssertionError(errors)


def read_tags(file):
    """Read tags on objects, or those fixed to a table."""
    load_record(FixedTagsFile if isinstance(read_mapping(file)["tags"], list) else TagsFile, file)


def read_part_of_object(file):
    """Read keys of an object beside those that it must have."""
    parse_record(
        ObjectFile, {"nouns": ["thing"], "category": "thing", "variants": {"plain": {}}, **read_mapping(file)}, ""
    )


READERS = [
    ({"robot", "strategies", "seeds"}, load_study),
    ({"claims"}, lambda file: load_record(Claims, file)),
    ({"session", "policies"}, lambda file: load_check(str(file))),
    ({"task", "instances"}, lambda file: load_instances(file, resolve("locobot_vln").task)),
    ({"things", "tasks"}, read_scene),
    ({"variants"}, load_object),
    ({"mesh"}, read_part_of_object),
    ({"tags"}, read_tags),
    ({"extends"}, load_profile),
    ({"seed", "robot", "strategy"}, lambda file: resolve(str(file))),
    ({"policy"}, describe),
    ({"vocabulary"}, lambda file: describe(completed(file, openpi()))),
    ({"text"}, lambda file: describe(completed(file, openpi()))),
]
"""Keys that a file has -> its reader. What has none of them is a part of a session."""


def completed(file, content):
    file.write_text(yaml.safe_dump(content | read_mapping(file)))
    return file


def openpi():
    """Return the keys of the documents' file of a policy behind a server."""
    return next(yaml.safe_load(each.text) for each in BLOCKS if each.text.startswith("policy: openpi"))


@blocks_of("yaml", dear=r"\Aperturbations:|\nstrategies:")
def test_a_file_is_read_by_the_reader_of_its_kind(block, folder, monkeypatch):
    fill(folder, block.page)
    monkeypatch.setenv("OPENPI_API_KEY", "secret")
    content = yaml.safe_load(block.text)
    if isinstance(content, list):  # the steps of a workflow
        for step in content:
            for line in step.get("run", "").splitlines():
                check(words(line))
        return
    reader = next((reader for keys, reader in READERS if keys <= set(content)), None)
    if reader is None:
        one_each = block.text.splitlines() if len(set(map(first_word, block.text.splitlines()))) == 1 else [block.text]
        for part in map(yaml.safe_load, one_each):
            if "perturbations" in part:
                part = {"strategy.perturbations": part["perturbations"]}
            session_with(part, block.page)
        return
    file = folder / (block.name or "a_file.yaml")
    file.write_text(block.text, encoding="utf-8")
    reader(file)


def first_word(line):
    return line.partition(" ")[0]


# Commands

NAMED = {
    **dict.fromkeys(("robot",), "robots"),
    **dict.fromkeys(("policy",), "policies"),
    "session": "sessions",
    "recipe": "training",
}
"""Parameter of a command -> folder of config/ in which its value is a name."""

PLACEHOLDER = re.compile(r"…|\b[A-Z][A-Z_]+\b|\$")
TARGETS = re.compile(r"^([a-z-]+):", re.MULTILINE)
SERVICE = re.compile(r'create_service\((\w+), "~/(\w+)"')
IN_TREE = re.compile(r"(?:\./|src/robocontrast_ros/|\S*/share/robocontrast_ros/)?(\w+/\S+|requirements\S*)")


def check(command, inline=False):
    """Check a command by its words.

    Args:
        command: its words, the program first.
        inline: whether it may lack arguments that it needs.
    """
    program, *arguments = command
    for word in () if program == "ros2" else arguments:
        named = IN_TREE.fullmatch(word)
        if (
            named
            and (ROOT / Path(named[1]).parts[0]).exists()
            and not PLACEHOLDER.search(word)
            and "build/" not in word
        ):
            assert (ROOT / named[1]).exists(), word
        if word == Path(word).name and word.endswith(".py"):
            assert Path(word).exists(), word
    CHECKS[Path(program).name](arguments, inline)


@cache
def own_command():
    return typer.main.get_command(app)


def parsed(arguments):
    """Return the command and the values that the real parser finds; it refuses what it does not know."""
    command = own_command()
    while hasattr(command, "commands"):
        name, *arguments = arguments
        command = command.commands[name]
    return name, command.make_context(name, list(arguments)).params


def check_own(arguments, inline):
    try:
        name, values = parsed(arguments)
    except typer.TyperException as error:
        # Within a line a command may lack an argument, or the value of its last option.
        if inline and (type(error).__name__ == "MissingParameter" or arguments[-1].startswith("--")):
            return
        raise
    for key, value in values.items():
        kind = {"study": {"name": "studies"}, "understanding": {"run": "understanding"}}.get(name, NAMED).get(key)
        for each in value if isinstance(value, list) else [value]:
            if kind and each and not PLACEHOLDER.search(each) and not is_path(each):
                find_file(kind, each, "command line", key, Path.cwd())
    if name in ("plan", "evaluate") and values["session"]:
        session, overrides = overridden(values)
        if session.startswith("language_table"):
            resolve(session, overrides)


def overridden(values):
    """Return a session, the demo in place of one of the reader's own, and the values that replace those of its file."""
    given = {name: value for name in OPTIONS if (value := values.get(name)) not in (None, False)}
    for name in ("policy", "robot", "plan"):
        file = given.get(name)
        named = file and name != "plan" and not is_path(file)
        if file and (PLACEHOLDER.search(file) or not (named or Path(file).exists())):
            del given[name]
    settings = parse_settings(values["settings"] or (), SETTING)
    session = values["session"]
    if PLACEHOLDER.search(session) or (is_path(session) and not Path(session).exists()):
        session = "language_table_demo"
    overrides = Overrides(**given, settings=settings)
    overrides.given()
    return session, overrides


def check_make(arguments, inline):
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for word in arguments:
        name, is_variable, _ = word.partition("=")
        assert re.search(rf"\b{name}\b", text) if is_variable else name in TARGETS.findall(text), word


def check_python(arguments, inline):
    if "-m" in arguments:
        module = arguments[arguments.index("-m") + 1]
        if PLACEHOLDER.search(module):
            return
        found = importlib.util.find_spec(module)
        assert found is not None, module
        source = Path(found.origin).read_text(encoding="utf-8")
        for word in arguments:
            if word.startswith("--"):
                assert f'"{word}"' in source, word


def check_pytest(arguments, inline):
    assert any(Path(word).exists() or (ROOT / word).exists() for word in arguments)


def check_pip(arguments, inline):
    """Check that what is installed is this package, files of it, or a package that it needs."""
    needed = "".join((ROOT / file).read_text(encoding="utf-8") for file in ("requirements.in", "requirements-ros.txt"))
    for word in arguments[1:]:
        assert word.startswith("-") or word == "." or "/" in word or word in needed, word


def check_lerobot_eval(arguments, inline):
    """Check the options of our environment, which are fields of its configuration."""
    text = (ROOT / "integrations/lerobot_env_robocontrast/lerobot_env_robocontrast.py").read_text(encoding="utf-8")
    for name in re.findall(r"--env\.(\w+)=", " ".join(arguments)):
        assert name == "type" or re.search(rf"^    {name}: ", text, re.MULTILINE), name


def check_colcon(arguments, inline):
    assert arguments == ["build", "--packages-select", "robocontrast_ros"]


def check_path(arguments, inline):
    """Check files alone, as of every command: they were."""


def check_ros(arguments, inline):
    what, *rest = arguments
    if what == "launch" and rest:
        package, file, *given = rest
        assert package == "robocontrast_ros" and (ROOT / "launch" / file).exists()
        known = ARGUMENTS if file == "evaluate.launch.py" else launch_arguments()
        values = dict(word.split(":=") for word in given)
        assert set(values) <= set(known)
        if "session" in values and file == "evaluate.launch.py":
            resolve(*overridden({"settings": (), **{key: values[key] for key in values.keys() - {"namespace"}}}))
    elif what == "run" and rest:
        assert rest[1] in (ROOT / "setup.py").read_text(encoding="utf-8")
    elif rest[:2] == ["pub", "--once"] or rest[:1] == ["call"]:
        name, kind, *content = rest[2:] if rest[0] == "pub" else rest[1:]
        name = name.removeprefix("/")
        if rest[0] == "pub":
            assert (name, kind) in STOP_TOPICS
        elif name.partition("/")[0] in services():
            node, _, service = name.partition("/")
            assert services()[node].get(service) == kind.rpartition("/")[2], name
        for text in content:
            assert set(yaml.safe_load(text)) <= fields_of(kind)
    elif what == "interface" and len(rest) > 1:
        package, folder, name = rest[1].split("/")
        assert package == "robocontrast_ros" and (ROOT / folder / f"{name}.{folder}").exists()


CHECKS = {
    "robocontrast": check_own,
    "make": check_make,
    "ros2": check_ros,
    "python": check_python,
    "pytest": check_pytest,
    "pip": check_pip,
    "lerobot-eval": check_lerobot_eval,
    "colcon": check_colcon,
    **dict.fromkeys(("rviz2", "echo", "export", "rosdep"), check_path),
}
"""Program -> what checks its arguments; a command of another program is marked as unchecked."""


@cache
def launch_arguments():
    """Return the names of the arguments of the launch file of one process."""
    tree = ast.parse((ROOT / "robocontrast_ros" / "nodes" / "launching.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    return {
        call.args[0].value
        for call in calls
        if getattr(call.func, "id", "") == "DeclareLaunchArgument" and isinstance(call.args[0], ast.Constant)
    }


@cache
def services():
    """Return node -> service -> name of its type, of the services that a person calls."""
    found = {}
    for file in (ROOT / "robocontrast_ros" / "nodes").rglob("*.py"):
        node = (file.parent.name if file.parent.name != "nodes" else file.stem).removesuffix("_node")
        text = file.read_text(encoding="utf-8")
        pairs = [*SERVICE.findall(text), *re.findall(r'^ +\((\w+), "(\w+)", self', text, re.MULTILINE)]
        found.setdefault(node, {}).update((name, kind) for kind, name in pairs)
    return found


def fields_of(kind):
    """Return the fields of a message, or of a service's request."""
    package, folder, name = kind.split("/")
    file = ROOT / folder / f"{name}.{folder}"
    if package != "robocontrast_ros" and folder == "msg":
        text = find_definition(kind).text
    else:
        text = file.read_text(encoding="utf-8")
    request = text.partition("---")[0].partition("====")[0]
    return {found[1] for line in request.splitlines() if (found := re.match(r"[\w/\[\]<=]+ (\w+)", line))}


@blocks_of("commands")
def test_a_command_names_what_there_is(block, folder):
    fill(folder, block.page)
    for command in block.commands:
        check(command)
        if "--lock" in command and not any(map(PLACEHOLDER.search, command)):
            assert command_here(*command[1:])[0] == 0


@pytest.mark.long
def test_the_options_of_each_command_fit_its_session(folder):
    done = []
    for block in HERE:
        own = [words[1:] for words in block.commands if words[0] == "robocontrast" and words[1] in ("plan", "evaluate")]
        for _, values in map(parsed, own):
            if not values["session"] or values["session"] in EXTENDING:
                continue
            fill(folder, block.page)
            if (found := overridden(values)) not in done:
                resolve(*found)
                done.append(found)
            for name in files_of(block.page):  # another page may mean another file by the name
                (folder / name).unlink()
    assert done


COMMAND = re.compile(r"(robocontrast|make|ros2) \S")


def test_a_command_within_a_line_names_what_there_is(folder):
    wrong = []
    for each in ALL:
        if each.inline and COMMAND.match(each.text) and each.text.split()[1] != "…":
            try:
                check(words(each.text), inline=True)
            except (AssertionError, ConfigurationError, KeyError, ValueError) as error:
                wrong.append(f"{each}: {each.text}: {error}")
    assert wrong == []


UNDECIDED = 3
"""Exit code of a comparison that decides nothing."""

QUICK = {"compare", "levels", "list", "print-tags"}
DEAR = {
    "plan",
    "perturbations",
    "policies",
    "objects",
    "tasks list",
    "tasks new",
    "tasks check",
    "tasks export",
    "clutter-bins",
}
OF_A_RUN = {"report", "results", "score", "levels"}
"""Commands that are run: quick ones, dear ones, and those of a run folder."""
LESS = {"clutter-bins": ("--draws", "20")}
"""Command -> options with which it takes less."""

FILE_OF_THEIRS = re.compile(r"[\w/-]+\.(json|csv|log)(#\w+)?|runs/\*")
WRITTEN = re.compile(r"^echo '(?P<text>.*)' > (?P<file>\S+)$", re.MULTILINE)


def with_any(names):
    """Return whether a block has a command of ours of these names, as a function of the block."""
    return lambda block: any(f"robocontrast {name}" in block.text for name in names)


def run_own(block, wanted, folder):
    """Run those commands of a block that are wanted and name nothing of the reader's; return what each prints."""
    fill(folder, block.page)
    for written in WRITTEN.finditer(block.text):
        (folder / written["file"]).write_text(written["text"], encoding="utf-8")
    printed = []
    for program, *arguments in block.commands:
        name = " ".join(arguments[: 1 + (arguments[:1] == ["tasks"])])
        if program != "robocontrast" or name not in wanted:
            continue
        if any(PLACEHOLDER.search(word) or FILE_OF_THEIRS.fullmatch(word) for word in arguments if word != "tasks.csv"):
            continue
        # A minute, and `test_tags.py` has smaller sheets.
        if arguments[:2] != ["print-tags", "--objects"]:
            code, output = command_here(*arguments, *LESS.get(name, ()))
            assert code in (0, UNDECIDED), (arguments, output)
            printed.append(output)
    return printed


@blocks_of("commands", with_any(QUICK))
def test_a_quick_command_runs_and_prints_what_the_page_shows(block, folder):
    printed = run_own(block, QUICK, folder)
    if block.output:
        assert "".join(printed).strip() == block.output.strip()


@pytest.mark.long
@blocks_of("commands", with_any(DEAR))
def test_a_command_that_takes_longer_runs(block, folder):
    run_own(block, DEAR, folder)


# Python, and what is said of runs


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """The run folder of a session of a trial and its perturbations, with images."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv(FORK_SERVER, NONE)
        # Levels are known of policies that were trained.
        words = ("evaluate", "language_table_demo", "--fast", "--policy", "film_bc_state", "--size", "1")
        code, output = command_here(*words)
    assert code == 0, output
    return next((folder / "runs").iterdir())


RUN = re.compile(r"RUN|runs/[\w…]+")


def link(run_folder, folder, text):
    """Give a run the names that a text has for its runs."""
    (folder / "runs").mkdir(exist_ok=True)
    for name in set(re.findall(r"runs/([\w…*]+)", text)):
        (folder / "runs" / name).symlink_to(run_folder)


def stand_in(folder, word):
    """Write a file of the reader's own, such as my_language_table.yaml, as a copy of one that ships."""
    if word.startswith("my_") and not (folder / word).exists():
        name = word.removeprefix("my_").removesuffix(".yaml")
        found = [*(ROOT / "config" / "tasks").glob(f"{name}.yaml"), *(ROOT / "config" / name).glob("*.yaml")]
        shutil.copy(found[0], folder / word)


@pytest.mark.long
@blocks_of("commands", with_any(OF_A_RUN))
def test_a_command_of_a_run_runs(block, folder, run_folder):
    fill(folder, block.page)
    for program, *arguments in block.commands:
        if program == "robocontrast" and arguments[0] in OF_A_RUN and any(map(RUN.fullmatch, arguments)):
            own = [RUN.sub(str(run_folder), word) for word in arguments]
            for word in own:
                stand_in(folder, word)
            if not any(FILE_OF_THEIRS.fullmatch(word) for word in own):
                code, output = command_here(*own)
                assert code in (0, UNDECIDED), (arguments, output)


def imported(tree):
    """Return the modules of this package that code imports, each with what it imports of them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("robocontrast_ros"):
            yield importlib.import_module(node.module), [alias.name for alias in node.names]


def pages_with_python():
    """Return the argument of a test for each page: its Python that is run, which may go on from the block before."""
    pages = {}
    for block in HERE:
        if of_kind(block) == "python" and not block.marker:
            pages.setdefault(block.page, []).append(block)
    dear = re.compile(r"runs/|torch|open_bench")
    return [
        pytest.param(blocks, id=page.stem, marks=[pytest.mark.long] if any(dear.search(b.text) for b in blocks) else [])
        for page, blocks in pages.items()
    ]


@pytest.mark.parametrize("blocks", pages_with_python())
def test_the_python_of_a_page_runs(blocks, folder, request):
    text = "".join(block.text for block in blocks)
    fill(folder, blocks[0].page)
    if "runs/" in text:
        link(request.getfixturevalue("run_folder"), folder, text)
    problems = known_names("kitchen/problems").values()
    names = {"__name__": "page", "path": next(iter(problems))}
    for block in blocks:
        exec(compile(block.text, str(block), "exec"), names)


@blocks_of("python", lambda block: block.marker)
def test_python_that_is_not_run_is_code_that_imports_what_there_is(block):
    for module, names in imported(ast.parse(block.text)):
        assert [name for name in names if not hasattr(module, name)] == []


# Messages and trees


def bowl(folder):
    """Return the line about a mistake in a problem of the kitchen."""
    wrong = BOWL_ON_PLATE.replace("(Open wooden_cabinet_1_top_region)", "(Open wooden_cabinet_1_tpo_region)")
    (folder / "bowl.bddl").write_text(wrong)
    return command_here("tasks", "check", "bowl.bddl", "--text-alone")[1]


def absolute(folder):
    """Return the lines about a policy that does not fit."""
    conventions = {"reference": "absolute", "gripper": "closes"}
    write_described(folder / "absolute.yaml", cameras=["board", "wrist"], conventions=conventions, rate=5.0)
    said = command_here("evaluate", "language_table_demo", "--fast", "--policy", "absolute.yaml")[1]
    return said.replace(f"{folder}/", "")


def golden(folder):
    """Return the line about a run whose trials are those of the demo's digests."""
    trials = ("digest",) * 60
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digests, "_digests", lambda run: trials)
        return digests.compared(None, digests.Golden("demo", None, "", {}, {}, "", trials)) + "\n"


MAKERS = {"error: bowl.bddl": bowl, "error: absolute.yaml": absolute, "golden digest": golden}
"""Beginning of a message -> what makes it."""


@blocks_of("message")
def test_a_message_is_the_one_that_is_printed(block, folder):
    make = next(make for begins, make in MAKERS.items() if block.text.startswith(begins))
    assert block.text in make(folder)


FILE = re.compile(r"\S*\w\.\w+|\.\w+|…")


def paths_of(tree):
    """Yield the paths of a tree of folders and files, whose lines are indented by two spaces a level."""
    folders = {}
    for line in tree.splitlines():
        level = len(line) - len(line.lstrip())
        first, *columns = re.split(r" {2,}", line.strip())
        columns = itertools.takewhile(lambda column: all(map(FILE.fullmatch, column.split())), columns)
        for word in " ".join([first, *columns]).split():
            if not re.search(r"[/.]", word[1:]):
                continue
            above = next((folders[k] for k in sorted(folders, reverse=True) if k < level), "")
            yield above + word
            if word.endswith("/"):
                folders = {k: path for k, path in folders.items() if k < level} | {level: above + word}


@cache
def source():
    """Return all code of the package."""
    return "".join(file.read_text(encoding="utf-8") for file in (ROOT / "robocontrast_ros").rglob("*.py"))


@blocks_of("tree")
def test_what_a_tree_shows_is_there_or_is_written_by_the_package(block):
    paths = list(paths_of(block.text))
    assert len(paths) > 2
    in_checkout = (ROOT / paths[0]).exists()
    project = [path for path in paths if paths[0] + "pyproject.toml" in paths]
    missing = []
    for path in paths:
        if in_checkout:
            there = (ROOT / path).exists()
        elif project:
            there = any(each.startswith(path.removeprefix(paths[0])) for each in EXTENDING)
        else:
            stem = Path(path).name.split(".")[0]
            there = all(part in source() for part in re.split(r"<\w+>|\{.*\}|[A-Z*…]+|_?\d{4,}", stem))
        if not there:
            missing.append(path)
    assert missing == []
