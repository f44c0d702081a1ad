"""Make .venv in the checkout: Python packages from requirements.lock, our interfaces, nodes and modules.

Run by `make setup`. The one argument is the purpose: `demo` (without an argument) makes what a session in simulation
needs, `robot` adds interfaces of real robots' drivers, `tests` adds what only tests need. With the variable
ROS_DISTRIBUTION=jazzy it makes .venv-jazzy from requirements-jazzy.lock instead. Does only what is not done yet.
Started with whatever Python the user has, so it must parse under old ones and may import the standard library alone.
"""

import ctypes
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST, NEWEST = (3, 10), (3, 13)

PURPOSES = ("demo", "robot", "tests")
"""What may be given on the command line; the first where nothing is."""

DISTRIBUTIONS = {"kilted": (".venv", "requirements.lock"), "jazzy": (".venv-jazzy", "requirements-jazzy.lock")}
"""ROS distribution -> folder of its environment, and the lock of its Python packages."""

DRIVERS = (
    "control_msgs",
    "controller_manager_msgs",
    "franka_msgs",
    "moveit_msgs",
    "ur_dashboard_msgs",
)
"""Those of the stand-ins that only drivers of real robots need."""

STAND_INS = ("simulation_interfaces", "tf2_msgs", *DRIVERS)
"""ROS packages that are on no registry of Python packages: compat/ has what is used of each."""

PACKAGES = {
    **{name: "cmake/interfaces.cmake compat/" + name for name in STAND_INS},
    "robocontrast_ros": (
        "CMakeLists.txt package.xml setup.py cmake msg srv action robocontrast_ros launch config models"
    ),
}
"""ROS package -> the files and folders that it is made of."""

RENDERER_PROBE = """
import mujoco
context = mujoco.GLContext(8, 8)
context.make_current()
context.free()
"""

# What a ROS installation does in its setup.bash, for programs that are started from .venv/bin directly.
# The folder is added at the end, so that a workspace that was sourced stays in front of it.
ENVIRONMENT_HOOK = (
    "import os, sys; os.environ['AMENT_PREFIX_PATH'] = os.pathsep.join(dict.fromkeys("
    "[p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p] + [sys.prefix]))\n"
)


class SetupError(Exception):
    """The set-up cannot go on; the message says what the user can do."""


def main():
    """Bring .venv up to date."""
    purpose = sys.argv[1] if len(sys.argv) > 1 else PURPOSES[0]
    try:
        if purpose not in PURPOSES:
            raise SetupError("PURPOSE is {}, got {!r}".format(" or ".join(PURPOSES), purpose))
        distribution = os.environ.get("ROS_DISTRIBUTION") or next(iter(DISTRIBUTIONS))
        if distribution not in DISTRIBUTIONS:
            raise SetupError("ROS_DISTRIBUTION is {}, got {!r}".format(" or ".join(DISTRIBUTIONS), distribution))
        check_version(sys.version_info)
        install_system_packages(missing_system_packages())
        folder, lock = DISTRIBUTIONS[distribution]
        environment = Environment(ROOT / folder, ROOT / lock)
        environment.create()
        environment.install_requirements()
        side_by_side(
            lambda: environment.build_packages(drivers=purpose != "demo"),
            lambda: environment.install_torch(os.environ.get("TORCH", "")),
            environment.check_rendering,
        )
        if purpose == "tests":
            install_browser()
    except SetupError as error:
        print("setup: " + str(error), file=sys.stderr)
        return 1
    return 0


def side_by_side(*steps):
    """Take steps at the same time.

    Raises:
        Exception: the first that a step raised, when all have ended.
    """
    problems = []

    def take(step):
        try:
            step()
        except Exception as error:
            problems.append(error)

    # Ctrl-C ends the program without waiting for them.
    threads = [threading.Thread(target=take, args=(step,), daemon=True) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


def check_version(version):
    """Refuse a Python that the ROS 2 wheels do not exist for."""
    if not OLDEST <= tuple(version[:2]) <= NEWEST:
        raise SetupError(
            "Python {}.{} is not supported: the ROS 2 wheels exist for Python 3.10 to 3.13. "
            "Choose one of these: make setup PYTHON=python3.12".format(*version[:2])
        )


def missing_system_packages():
    """Return what this machine lacks: Debian package -> what it is for."""
    python = "python{}.{}".format(*sys.version_info[:2])
    missing = {}
    if shutil.which("c++") is None:
        missing["g++"] = "a C++ compiler"
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").exists():
        missing[python + "-dev"] = "Python's C headers"
    if shutil.which("uv") is None and importlib.util.find_spec("ensurepip") is None:
        missing[python + "-venv"] = "Python's venv with pip"
    if not (loads("libEGL.so.1") or loads("libOSMesa.so.8")):
        missing["libegl1"] = "rendering without a screen (EGL)"
        missing["libgl1-mesa-dri"] = "rendering in software (Mesa)"
    if not (loads("libOpenGL.so.0") or loads("libGL.so.1")):
        missing["libopengl0"] = "OpenGL"
    return missing


def loads(library):
    """Tell whether the dynamic linker finds a library."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def install_system_packages(missing):
    """Install Debian packages where this user may; else say what to type."""
    if not missing:
        return
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *sorted(missing)]
    by_hand = "Missing: {}. Install it and run `make setup` again:\n    sudo {}".format(
        ", ".join(dict.fromkeys(missing.values())), " ".join(install)
    )
    as_root = privilege()
    if as_root is None or shutil.which("apt-get") is None:
        raise SetupError(by_hand)
    say("installing " + ", ".join(sorted(missing)))
    for command in (["apt-get", "update"], install):
        status, output = run(as_root + command, dict(os.environ, DEBIAN_FRONTEND="noninteractive"))
        if status != 0:
            raise SetupError(output + "\n" + by_hand)


def install_browser():
    """Install the browser that tests look at pages with; where it cannot be had they are skipped."""
    if shutil.which("chromium"):
        return
    try:
        install_system_packages({"chromium": "a browser, for the tests of reports"})
    except SetupError as error:
        say("the tests of reports in a browser will be skipped. " + str(error))


def privilege():
    """Return what to put before a command to run it as root; None where this user may not."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and run(["sudo", "--non-interactive", "true"])[0] == 0:
        return ["sudo", "--non-interactive", "--preserve-env=DEBIAN_FRONTEND"]
    return None


def run(command, environment=None):
    """Run a command; return its exit status and all that it printed."""
    done = subprocess.run(
        [str(part) for part in command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout.decode(errors="replace")


class Environment:
    """A virtual environment that also is the install prefix of the ROS packages built into it.

    A journal in it says from what each step was last done; a step is done again when that has changed.
    """

    def __init__(self, prefix, lock=ROOT / "requirements.lock"):
        self.prefix, self.lock = prefix, lock
        self.python = prefix / "bin" / "python"
        self.log = prefix / "setup.log"
        self.journal = prefix / "setup.json"
        self.done = json.loads(self.journal.read_text()) if self.journal.exists() else {}
        self.writing = threading.Lock()

    def create(self):
        """Create it, anew if it was moved or belongs to another Python."""
        wanted = "{} {}".format(self.prefix, sys.version)
        if self.done.get("environment") == wanted:
            return
        if self.prefix.exists():
            if not self.done:
                raise SetupError(
                    "{} exists and was not made by `make setup`: move or remove it first.".format(self.prefix)
                )
            shutil.rmtree(str(self.prefix))
        say("creating {} with Python {}.{}.{}".format(self.prefix.name, *sys.version_info[:3]))
        uv = shutil.which("uv")
        maker = [uv, "venv", "--quiet", "--python", sys.executable] if uv else [sys.executable, "-m", "venv"]
        status, output = run([*maker, self.prefix])
        if status != 0:
            raise SetupError(output)
        self.done = {}
        self.mark("environment", wanted)

    def install_requirements(self):
        """Install the Python packages of the lock."""
        lock = self.lock
        wanted = digest([lock, Path(__file__).resolve()])
        if self.done.get("requirements") == wanted:
            return
        say("installing the Python packages of " + lock.name)
        pip = [self.python, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
        uv = shutil.which("uv")
        if uv is None:
            uv = self.prefix / "bin" / "uv"
            part = self.prefix / "uv.lock"
            part.write_text(entry(lock, "uv"))
            self.run([*pip, "--require-hashes", "--requirement", part])
        # The lock is complete, less what pyproject.toml leaves out.
        locked = ["--no-deps", "--require-hashes", "--requirement", lock]
        self.run([uv, "pip", "install", "--python", self.python, *locked])
        (site_packages,) = self.prefix.glob("lib/python3.*/site-packages")
        (site_packages / "robocontrast_environment.pth").write_text(ENVIRONMENT_HOOK)
        self.mark("requirements", wanted)

    def install_torch(self, build):
        """Install PyTorch, whose build follows the machine.

        Args:
            build: what uv calls a torch backend: auto, cpu, cu130 …; empty for what is there already, else the
                build for the CPU from where pip is told to look, else auto, else whatever pip finds.
        """
        version = entry(ROOT / "requirements.in", "torch").strip().partition("==")[2]
        wanted = "{} {}".format(version, build).strip()
        if self.done.get("torch") == wanted:
            return
        if build or not self.has_torch(version):
            with reported("installing torch {}, some 200 MB, more for a GPU".format(version)):
                self.fetch_torch(version, build)
        self.mark("torch", wanted)

    def fetch_torch(self, version, build):
        """Install a version of PyTorch and make sure that it can be imported.

        Raises:
            SetupError: it cannot be had, or cannot be imported.
        """
        # pip reads the machine's configuration and uv does not; uv knows where PyTorch's own builds are. Most of
        # PyTorch's modules are never imported: to compile all takes longer than to install them.
        pip = [self.python, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile"]
        uv = [self.prefix / "bin" / "uv", "pip", "install", "--no-config", "--python", self.python]
        by_uv = [*uv, "--reinstall-package", "torch", "--torch-backend", build or "auto", "torch==" + version]
        ways = [
            ("pip, the build for the CPU", [*pip, "--no-deps", "torch=={}+cpu".format(version)]),
            ("uv, build " + (build or "auto"), by_uv),
            ("pip, with all that a GPU needs (gigabytes)", [*pip, "torch==" + version]),
        ]
        problems = []
        for way, command in ways[1:2] if build else ways:
            say("torch by " + way)
            try:
                self.run(command)
            except SetupError as error:
                problems.append(str(error))
                continue
            if self.has_torch(version):
                return
            problems.append("torch was installed and cannot be imported; see {}.".format(self.log))
        raise SetupError(
            "{}\nPut torch in by hand and run `make setup` again:\n    {} -m pip install torch=={}".format(
                problems[-1], self.python, version
            )
        )

    def has_torch(self, version):
        """Tell whether that version of PyTorch can be imported, whatever it was built for."""
        probe = "import torch; assert torch.__version__.partition('+')[0] == '{}'".format(version)
        try:
            self.run([self.python, "-c", probe])
        except SetupError:
            return False
        return True

    def check_rendering(self):
        """Make sure that MuJoCo can render without a screen, by EGL or OSMesa."""
        if self.done.get("rendering"):
            return
        if not self.renders():
            install_system_packages(
                {"libegl-mesa0": "an EGL driver", "libgl1-mesa-dri": "rendering in software (Mesa)"}
            )
        if not self.renders():
            raise SetupError("MuJoCo can render neither by EGL nor by OSMesa; see {}.".format(self.log))
        self.mark("rendering", True)

    def renders(self):
        """Tell whether one of MuJoCo's ways to render without a screen works."""
        for backend in ("egl", "osmesa"):
            try:
                self.run([self.python, "-c", RENDERER_PROBE], MUJOCO_GL=backend, PYOPENGL_PLATFORM=backend)
            except SetupError:
                continue
            return True
        return False

    def build_packages(self, drivers):
        """Build and install our ROS packages; a stand-in only where the real one is absent.

        Args:
            drivers: whether drivers of real robots are to be talked to. What was built once is kept up to date.
        """
        names = [name for name in PACKAGES if name in self.done or self.lacks(name, drivers)]
        wanted = {name: digest(ROOT / path for path in PACKAGES[name].split()) for name in names}
        stale = [name for name in names if self.done.get(name) != wanted[name]]
        if not stale:
            return
        say("building " + ", ".join(stale))
        for name in stale:
            self.mark(name, "begun")
        self.build(names)
        for name in stale:
            self.mark(name, wanted[name])

    def lacks(self, name, drivers):
        """Tell whether a package that was never built here has to be."""
        if name in STAND_INS and (self.prefix / "share" / name).exists():
            return False
        return drivers or name not in DRIVERS

    def build(self, names):
        """Build and install packages; take away what the last time alone installed."""
        build = build_folder(self.prefix) / "packages"
        # The folders beside it are of a set-up that built each package by itself.
        folders = list(build.parent.glob("*"))
        manifests = [folder / "install_manifest.txt" for folder in folders]
        before = {line for path in manifests if path.exists() for line in path.read_text().splitlines()}
        packages = ";".join(names)
        if self.done.get("configured") != packages or not (build / "build.ninja").exists():
            definitions = {
                "PACKAGES": packages,
                "PYTHON_INTERFACES_ONLY": "ON",
                "BUILD_TESTING": "OFF",
                "CMAKE_BUILD_TYPE": "Release",
                "CMAKE_INSTALL_PREFIX": self.prefix,
                "CMAKE_PREFIX_PATH": self.prefix,
                "Python3_EXECUTABLE": self.python,
            }
            self.run(
                ["cmake", "-S", ROOT / "cmake" / "packages", "-B", build, "-G", "Ninja"]
                + ["-D{}={}".format(key, value) for key, value in definitions.items()]
            )
            self.mark("configured", packages)
        parsed = build / "parsed"
        parsed.mkdir(exist_ok=True)
        self.run(
            ["cmake", "--build", build],
            PYTHONPATH=str(ROOT / "cmake" / "packages"),
            ROBOCONTRAST_PARSED=str(parsed),
        )
        self.run(["cmake", "--install", build])
        for path in before - set((build / "install_manifest.txt").read_text().splitlines()):
            Path(path).unlink(missing_ok=True)
        for folder in folders:
            if folder != build:
                shutil.rmtree(str(folder))

    def run(self, command, **variables):
        """Run a command as inside the environment; its output goes to the log.

        Raises:
            SetupError: it failed; the message ends with its last output.
        """
        environment = {
            key: value
            for key, value in os.environ.items()
            if key not in ("PYTHONHOME", "PYTHONPATH", "CMAKE_PREFIX_PATH", "COLCON_PREFIX_PATH")
        }
        environment.update(
            PATH=str(self.prefix / "bin") + os.pathsep + os.environ.get("PATH", os.defpath),
            VIRTUAL_ENV=str(self.prefix),
            AMENT_PREFIX_PATH=str(self.prefix),
            **variables,
        )
        status, output = run(command, environment)
        line = " ".join(str(part) for part in command)
        with self.log.open("a") as log:
            log.write("$ {}\n{}".format(line, output))
        if status != 0:
            end = "\n".join(output.splitlines()[-30:])
            raise SetupError("{}\nThis command failed: {}\nAll output: {}".format(end, line, self.log))

    def mark(self, step, source):
        """Write down that a step is done, and from what."""
        with self.writing:
            self.done[step] = source
            self.journal.write_text(json.dumps(self.done, indent=1))


def build_folder(prefix):
    """Return the folder in which packages are built: in the environment, but where its path is not ASCII.

    ROS's CMake functions read lists of files without their encoding, and cut such a path in two.
    """
    try:
        str(prefix).encode("ascii")
    except UnicodeEncodeError:
        name = "robocontrast-build-" + hashlib.sha256(os.fsencode(str(prefix))).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / name
    return prefix / "build"


def entry(lock, package):
    """Return the lines of one package in a file of requirements."""
    return re.search("^{}==.*\n(?: .*\n)*".format(package), lock.read_text(), flags=re.MULTILINE).group()


def digest(paths):
    """Return a digest of files, and of all files in folders, with their paths."""
    total = hashlib.sha256()
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                total.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return total.hexdigest()


@contextmanager
def reported(text, every=15):
    """Say what begins, and while it goes on how long it has taken, each so many seconds."""
    over = threading.Event()

    def report():
        seconds = every
        while not over.wait(every):
            say("{}: {} s so far".format(text, seconds))
            seconds += every

    say(text)
    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        over.set()
        reporter.join()


def say(text):
    """Print one line of progress."""
    print("setup: " + text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
