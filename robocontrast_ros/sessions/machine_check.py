"""Check that this machine can do what a session needs of it, before the session has a run folder."""

from __future__ import annotations

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.images.rendering import TRIED, RenderingUnavailable, working_backend
from robocontrast_ros.sessions.resolving import ResolvedSession


def check_rendering(session: ResolvedSession) -> dict[str, str]:
    """Refuse a session whose simulated cameras cannot be drawn here; return the variables that save others from trying.

    Raises:
        ConfigurationError: they cannot.
    """
    if not (session.world.features.embedded and session.parameters.cameras):
        return {}
    try:
        return {TRIED: working_backend()}
    except RenderingUnavailable as error:
        if error.blame is not None:
            raise error.blame from None
        names = [camera.name for camera in session.parameters.cameras]
        expected = f"a machine that can draw images ({error})"
        raise ConfigurationError(str(session.source), "cameras", names, expected) from None
