"""Environment variables with which ROS or OpenGL may not work on this machine: a table, and the search for the cause.

Most of their effects depend on the machine, so a failed start is tried again without each variable that is set. Other
variables change nothing that a session needs: CYCLONEDDS_URI with Fast DDS, ROS_DISTRO, TMPDIR, OMP_NUM_THREADS …
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from robocontrast_ros.configuration.errors import ConfigurationError

SOURCE = "environment"
"""Source of a mistake, for error messages."""


def _switch(value: str) -> bool:
    return value in ("", "0", "1")


def _readable_xml(value: str) -> bool:
    try:
        return not value or ElementTree.parse(value) is not None
    except (OSError, ElementTree.ParseError):
        return False


@dataclass(frozen=True)
class Variable:
    """An environment variable that ROS, MuJoCo or OpenGL reads.

    Attributes:
        name: name of the variable.
        expected: description of a right value.
        fits: returns whether a value can be right on any machine.
        cure: what to do about a wrong value, besides unsetting the variable.
    """

    name: str
    expected: str
    fits: Callable[[str], bool] = lambda value: True
    cure: str = ""

    def refused(self, value: str, failure: str = "") -> ConfigurationError:
        """Return the error for a value, with the failure that it caused."""
        why = f" ({failure})" if failure else ""
        return ConfigurationError(SOURCE, self.name, value, self.expected + why, f"Unset {self.name}{self.cure}.")


_RANGES = ("", "SUBNET", "LOCALHOST", "OFF", "SYSTEM_DEFAULT")
_MEET = "a value with which the nodes of one machine discover each other"
_FILE = "a file of Fast DDS profiles, in XML"
_KEYS = "a value with which ROS finds its keys"

ROS_VARIABLES = (
    Variable("RMW_IMPLEMENTATION", "a ROS middleware that is installed for this Python"),
    Variable(
        "PYTHONPATH",
        "Python packages that fit this Python",
        cure=", or begin in a terminal in which no other ROS distribution was sourced",
    ),
    Variable("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST, SUBNET or SYSTEM_DEFAULT", _RANGES.__contains__),
    Variable("ROS_DISCOVERY_SERVER", "the address of a discovery server that runs", cure=", or start the server"),
    Variable("ROS_STATIC_PEERS", "addresses that can be resolved"),
    Variable("FASTDDS_DEFAULT_PROFILES_FILE", _FILE, _readable_xml),
    Variable("FASTRTPS_DEFAULT_PROFILES_FILE", _FILE, _readable_xml),
    Variable("FASTDDS_BUILTIN_TRANSPORTS", _MEET),
    Variable("CYCLONEDDS_URI", "a file of settings that CycloneDDS can read"),
    Variable("ROS_LOCALHOST_ONLY", _MEET),
    Variable("ROS_SUPER_CLIENT", _MEET),
    Variable("ROS_SECURITY_ENABLE", _KEYS, cure=", or set ROS_SECURITY_KEYSTORE"),
    Variable("ROS_SECURITY_KEYSTORE", _KEYS),
    Variable("ROS_SECURITY_STRATEGY", _KEYS),
    *(
        Variable(f"RCUTILS_{name}", "0 or 1", _switch)
        for name in ("LOGGING_USE_STDOUT", "LOGGING_BUFFERED_STREAM", "COLORIZED_OUTPUT")
    ),
    Variable("_ROS_WHEELS_BOOTSTRAP_COMPLETE", "nothing, where LD_LIBRARY_PATH does not have ROS's libraries"),
    Variable("LD_LIBRARY_PATH", "libraries that fit this ROS"),
    Variable("AMENT_PREFIX_PATH", "prefixes of this ROS"),
)
"""Variables that ROS and its middleware read. ``graph.ros_domain`` checks ROS_DOMAIN_ID when it takes a domain."""

_DRAWS = "a value with which this machine draws without a screen"


def _known_to_mujoco(value: str) -> bool:
    """Return whether MuJoCo's import accepts a value (its gl_context.py, on Linux)."""
    switches = ("0", "1", "disable", "disabled", "enable", "enabled", "off", "on", "false", "true")
    return value.lower().strip() in ("", "egl", "osmesa", "glfw", "glx", *switches)


OPENGL_VARIABLES = (
    Variable("MUJOCO_GL", "egl or osmesa, where it is installed", _known_to_mujoco, ": EGL is then tried first"),
    *(
        Variable(name, _DRAWS)
        for name in (
            *("MUJOCO_EGL_DEVICE_ID", "EGL_PLATFORM", "EGL_VISIBLE_DEVICES", "LIBGL_ALWAYS_SOFTWARE"),
            *("LIBGL_DRIVERS_PATH", "GALLIUM_DRIVER", "MESA_LOADER_DRIVER_OVERRIDE", "MESA_GL_VERSION_OVERRIDE"),
            *("__EGL_VENDOR_LIBRARY_FILENAMES", "__EGL_VENDOR_LIBRARY_DIRS", "__GLX_VENDOR_LIBRARY_NAME"),
            *("DISPLAY", "LD_LIBRARY_PATH", "LD_PRELOAD"),
        )
    ),
)
"""Variables that MuJoCo and OpenGL read."""


def check_values(variables: Sequence[Variable], environment: Mapping[str, str]) -> None:
    """Refuse a value that is wrong on any machine.

    Raises:
        ConfigurationError: a value is wrong; the error is that of the first one.
    """
    for variable in variables:
        value = environment.get(variable.name, "")
        if not variable.fits(value):
            raise variable.refused(value)


def blamed(
    variables: Sequence[Variable],
    environment: Mapping[str, str],
    failure: str,
    works: Callable[[dict[str, str]], bool],
) -> ConfigurationError | None:
    """Return the error of the first variable without which the failed operation works; None if there is none.

    Args:
        variables: variables that may be the reason.
        environment: environment of the failure.
        failure: its message, in a line.
        works: returns whether the operation works in an environment.
    """
    for variable in variables:
        if environment.get(variable.name) and works({k: v for k, v in environment.items() if k != variable.name}):
            return variable.refused(environment[variable.name], failure)
    return None
