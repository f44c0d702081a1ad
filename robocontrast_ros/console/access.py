"""Access to the console: a token, kept in the run folder; the QR code in the terminal contains it."""

from __future__ import annotations

import io
import json
import os
import re
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

import qrcode

from robocontrast_ros.system.disk import new_file

FILE = "console.json"
"""File in a run folder with the address and the token, for its owner alone."""

_TOKEN = re.compile(r"[A-Za-z0-9_-]{20,}")


@dataclass(frozen=True)
class Access:
    """The address of the console and the token that opens it.

    Attributes:
        url: address of the page, without the token.
        token: sent by a page with each request.
    """

    url: str
    token: str

    @property
    def link(self) -> str:
        """The address that opens the page. A browser sends nothing after the `#` to any server, so no log has it."""
        return f"{self.url}/#{self.token}"

    def write(self, run: Path) -> None:
        """Write the access into a run folder, readable by its owner alone.

        Raises:
            DiskError: the file cannot be written.
        """
        with new_file(run / FILE) as part:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            # A file from an earlier call keeps its mode.
            os.fchmod(descriptor, 0o600)
            with open(descriptor, "w") as file:
                json.dump(asdict(self), file)

    def qr_code(self) -> str:
        """Return the QR code of the link in characters of a terminal."""
        code = qrcode.QRCode(border=2)
        code.add_data(self.link)
        text = io.StringIO()
        code.print_ascii(out=text, invert=True)
        return text.getvalue()


def read_access(run: Path) -> Access | None:
    """Return the access to a run's console; None if it has none."""
    try:
        content = json.loads((run / FILE).read_text())
        access = Access(str(content["url"]), str(content["token"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    # A token that is empty or short would open the console to everybody.
    return access if _TOKEN.fullmatch(access.token) else None


def new_token(run: Path) -> str:
    """Return the token that the pages of a run have already, else a new one."""
    known = read_access(run)
    return known.token if known is not None else secrets.token_urlsafe(18)
