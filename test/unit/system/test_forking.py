"""A fork is what a new interpreter would be: arguments, environment, output, name, signals, exit code, its end."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from robocontrast_ros.system.forking import Forked, ForkServer, forkable
from robocontrast_ros.system.starting import FORK_SERVER

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the socket of a fork server is Linux's")

DEADLINE = 60.0


@pytest.fixture(scope="module")
def server():
    found = ForkServer(["decimal", "no_such_module"], os.environ)
    yield found
    found.close()


def begin(server, tmp_path, code, *arguments, **variables):
    with open(tmp_path / "said", "ab") as output:
        command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
        return server.start(command, {**os.environ, **variables}, output.fileno())


def said(tmp_path, lines):
    """Wait until a process has printed so many lines, and return them."""
    return wait_for(lambda: len(found := (tmp_path / "said").read_text().splitlines()) >= lines and found)


def wait_for(condition):
    deadline = time.monotonic() + DEADLINE
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return value


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


WAITS = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"


def test_it_has_what_was_imported_and_is_a_process_like_any_other(server, tmp_path):
    code = """
        import os, sys
        print("decimal" in sys.modules, sys.argv, os.environ["OWN"], os.environ.get("MUJOCO_GL"), __name__)
        print(sys.stdin.read() == "", os.getsid(0) == os.getpid(), "of an error", file=sys.stderr)
        print(open("/proc/self/cmdline").read().rstrip("\\0").partition("-c ")[2].splitlines()[-1])
    """
    process = begin(server, tmp_path, code, "one", "two words", OWN="ü")
    assert process.wait(DEADLINE) == 0
    lines = (tmp_path / "said").read_text().splitlines()
    gl = os.environ.get("MUJOCO_GL")
    assert f"True ['-c', 'one', 'two words'] ü {gl} __main__" in lines
    assert "True True of an error" in lines
    assert any(line.strip().endswith("one two words") for line in lines), lines


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise SystemExit(3)", 3),
        ("raise SystemExit('unforeseen')", 1),
        ("import atexit; atexit.register(print, 'at the end')", 0),
        ("raise ValueError('unforeseen')", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("import signal; signal.raise_signal(signal.SIGSEGV)", -signal.SIGSEGV),
    ],
)
def test_it_ends_as_a_new_interpreter_does(server, tmp_path, code, expected):
    process = begin(server, tmp_path, code)
    assert process.wait(DEADLINE) == expected == process.poll() == process.returncode
    process.send_signal(signal.SIGTERM)
    output = (tmp_path / "said").read_text()
    assert ("unforeseen" in output) == ("unforeseen" in code) and ("at the end" in output) == ("at the end" in code)


def test_native_threads_of_the_server_are_missed_by_nobody(tmp_path):
    """Rclpy starts some as it is imported, where it was built with LTTng."""
    pytest.importorskip("rclpy")
    server = ForkServer(["rclpy"], os.environ)
    code = "import rclpy; rclpy.init(); node = rclpy.create_node('forked'); print(node.get_name()); rclpy.shutdown()"
    for _ in range(5):
        assert begin(server, tmp_path, code, ROS_AUTOMATIC_DISCOVERY_RANGE="OFF").wait(DEADLINE) == 0
    server.close()
    assert (tmp_path / "said").read_text().splitlines() == 5 * ["forked"]


def test_signals_reach_it_and_each_fork_alone(server, tmp_path):
    handled = """
        import signal, sys, time
        signal.signal(signal.SIGINT, lambda *_: sys.exit(7))
        print("ready", flush=True)
        time.sleep(600)
    """
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = begin(server, tmp_path / "a", handled), begin(server, tmp_path / "b", handled)
    assert said(tmp_path / "a", 1) == said(tmp_path / "b", 1) == ["ready"]
    one.send_signal(signal.SIGINT)
    assert one.wait(DEADLINE) == 7 and other.poll() is None
    other.send_signal(signal.SIGKILL)
    assert other.wait(DEADLINE) == -signal.SIGKILL


def test_forks_end_with_the_server_and_with_whoever_asked(tmp_path):
    asks = f"""
        import sys, time
        sys.path[:0] = {sys.path!r}
        from robocontrast_ros.system.forking import ForkServer
        server = ForkServer([], {{}})
        output = open({str(tmp_path / "said")!r}, "wb")
        process = server.start([sys.executable, "-c", {WAITS!r}], {{"PYTHONUNBUFFERED": "1"}}, output.fileno())
        print(server._process.pid, flush=True)
        time.sleep(600)
    """
    owner = subprocess.Popen([sys.executable, "-c", textwrap.dedent(asks)], stdout=subprocess.PIPE, text=True)
    pids = [int(owner.stdout.readline()), int(said(tmp_path, 1)[0])]
    assert all(map(alive, pids))
    owner.kill()
    wait_for(lambda: not any(map(alive, pids)))
    owner.communicate()

    own = tmp_path / "own"
    own.mkdir()
    server = ForkServer([], os.environ)
    process = begin(server, own, WAITS)
    pid = int(said(own, 1)[0])
    server.close()
    wait_for(lambda: not alive(pid))
    assert process.wait(DEADLINE) == -signal.SIGTERM
    with pytest.raises(ConnectionRefusedError):
        begin(server, own, WAITS)


def executable(server, tmp_path, ends_by_itself=False):
    """Return an executable of a node that has begun, and the process id of its fork."""
    script = f"""
        import sys
        sys.path[:0] = {[*sys.path, str(tmp_path)]!r}
        from robocontrast_ros.system import starting
        starting.begin("robocontrast_ros.nodes.own", "main")
    """
    # The fork imports this, not the executable.
    code = "import os, sys, time; print(sys.argv[1:], os.getpid(), flush=True); time.sleep(600)"
    if ends_by_itself:
        code = code.replace("time.sleep(600)", "time.sleep(0.3); sys.exit(7)")
        code = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); {code}"
    own_code = f"starting.starting = lambda *_: {code!r}\n"
    script = textwrap.dedent(script).replace("starting.begin(", f"{own_code}starting.begin(")
    environment = {**os.environ, FORK_SERVER: server.name, "PYTHONUNBUFFERED": "1"}

    process = subprocess.Popen(
        [sys.executable, "-c", script, "a word"], env=environment, stdout=subprocess.PIPE, text=True
    )
    line = process.stdout.readline()
    assert line.startswith("['a word'] ")
    return process, int(line.split()[-1])


def test_an_executable_passes_on_what_it_is_given_and_how_it_ended(server, tmp_path):
    process, pid = executable(server, tmp_path)
    os.kill(pid, signal.SIGKILL)
    assert process.wait(DEADLINE) == -signal.SIGKILL
    process.stdout.close()
    process, pid = executable(server, tmp_path)
    process.kill()
    wait_for(lambda: not alive(pid))
    process.communicate()
    process, pid = executable(server, tmp_path)
    process.terminate()
    assert process.wait(DEADLINE) == -signal.SIGTERM and not alive(pid)
    process.stdout.close()


def test_no_signal_that_comes_as_an_executable_ends_changes_how_it_ends(server, tmp_path):
    for _ in range(5):
        process, _ = executable(server, tmp_path, ends_by_itself=True)
        while process.poll() is None:
            process.send_signal(signal.SIGHUP)
        assert process.returncode == 7
        process.stdout.close()


def test_what_is_no_code_for_this_interpreter_cannot_be_forked():
    assert forkable([sys.executable, "-c", "pass", "word"])
    assert not forkable(["ip", "netns", "exec", "x", sys.executable, "-c", "pass"])
    assert not forkable([sys.executable, "-m", "robocontrast_ros.cli.fast"])


def test_a_server_that_is_gone_is_an_error_of_the_system():
    with pytest.raises(ConnectionRefusedError):
        Forked("robocontrast-fork-gone", [sys.executable, "-c", "pass"], {}, (0, 1, 2))


def test_a_fork_can_be_prepared_before_its_command_is_known(server, tmp_path):
    """What the function left behind is there, and what it printed comes first."""
    code = "import decimal, os, sys; print(decimal.getcontext().prec, sys.argv[1:], os.environ['OWN'])"
    prepared = server.prepare(
        code, "builtins:exec", "import decimal; decimal.getcontext().prec = 7; print('before')", environment=os.environ
    )
    assert prepared.result() is None
    assert wait_for(prepared.said) == "before\n"
    assert begin(server, tmp_path, code, "word", OWN="1").wait(DEADLINE) == 0
    assert (tmp_path / "said").read_text() == "before\n7 ['word'] 1\n"
    assert begin(server, tmp_path, code, "again", OWN="2").wait(DEADLINE) == 0
    assert (tmp_path / "said").read_text().splitlines()[2:] == ["28 ['again'] 2"], "one request has it"


def test_a_fork_goes_on_while_what_it_began_is_not_done(tmp_path):
    """Its answer comes from a thread, and its command runs meanwhile."""
    (tmp_path / "begun.py").write_text(
        "import os, threading\nfrom concurrent.futures import Future\nanswer = Future()\n"
        "def begin(path):\n"
        "    def wait():\n"
        "        with open(path) as file: answer.set_result(file.read())\n"
        "    threading.Thread(target=wait, daemon=True).start()\n"
        "    return answer\n"
    )
    os.mkfifo(gate := tmp_path / "gate")
    server = ForkServer([], {**os.environ, "PYTHONPATH": str(tmp_path)})
    code = "import begun, os; print(begun.answer.done(), os.environ['OWN'], flush=True); begun.answer.result()"
    prepared = server.prepare(code, "begun:begin", str(gate), environment=os.environ)
    process = begin(server, tmp_path, code, OWN="1")
    assert said(tmp_path, 1) == ["False 1"]
    gate.write_text("done")
    assert prepared.result(DEADLINE) == "done" and process.wait(DEADLINE) == 0
    server.close()


def test_of_a_prepared_fork_that_ended_nothing_is_left(server, tmp_path):
    code = "print('a new one')"
    prepared = server.prepare(code, "os:_exit", 5, environment=os.environ)
    with pytest.raises(EOFError):
        prepared.result()
    prepared = server.prepare(code, "os:getpid", environment=os.environ)
    os.kill(pid := prepared.result(), signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{pid}").exists())
    assert begin(server, tmp_path, code).wait(DEADLINE) == 0
    assert (tmp_path / "said").read_text() == "a new one\n"


def test_a_function_is_called_as_soon_as_its_module_is_imported_and_a_command_has_all(tmp_path):
    for name in ("first", "second"):
        os.mkfifo(tmp_path / name)
        (tmp_path / f"{name}_module.py").write_text(
            f"import os; open({str(tmp_path / name)!r}).read(); pid = os.getpid"
        )
    server = ForkServer(["first_module", "second_module"], {**os.environ, "PYTHONPATH": str(tmp_path)})
    called = server.prepare("", "first_module:pid", environment=os.environ)
    process = begin(server, tmp_path, "import sys; print('second_module' in sys.modules)")
    (tmp_path / "first").write_text("go on")
    pid = called.result(DEADLINE)
    assert process.poll() is None and not (tmp_path / "said").read_text()
    (tmp_path / "second").write_text("go on")
    assert process.wait(DEADLINE) == 0
    assert (tmp_path / "said").read_text() == "True\n"
    wait_for(lambda: not Path(f"/proc/{pid}").exists())
    server.close()


def test_a_result_is_not_waited_for_longer_than_is_said(server):
    with pytest.raises(TimeoutError):
        server.prepare("", "time:sleep", 600.0, environment=os.environ).result(0.0)
