"""A scripted person at the console's page, in a real browser at phone size."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chromium import CHROMIUM
from playwright.sync_api import Page, sync_playwright

from robocontrast_ros.console.access import read_access

PHONE = {"width": 390, "height": 844}
LEAST_TARGET = 44
"""Least width and height of what is tapped [CSS pixel]."""

LEAST_CONTRAST = 4.5
"""Between a text and its ground: level AA of WCAG 2.2, 1.4.3."""


@contextmanager
def browser() -> Iterator[object]:
    """Open the browser."""
    with sync_playwright() as playwright:
        # The sandbox needs what containers seldom allow; the page is our own.
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class PersonAtThePage:
    """Looks at the page, and taps what it offers.

    Attributes:
        at: the number of what was asked in the state that was waited for last.
    """

    def __init__(self, browser, link: str, pictures: Path | None = None, timeout: float = 60.0) -> None:
        """Open the page in a context of its own, as another phone has.

        Args:
            browser: the browser.
            link: of the console, with its token.
            pictures: folder for a picture of each state; none where left out.
            timeout: how long a state is waited for [s].
        """
        self.context = browser.new_context(viewport=PHONE, device_scale_factor=2, has_touch=True)
        self.page: Page = self.context.new_page()
        self.errors: list[str] = []
        self.at = -1
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(link)
        self._pictures, self._timeout = pictures, timeout
        self.seen: dict[str, int] = {}

    @property
    def phase(self) -> str:
        """The state that the page shows."""
        return self.page.evaluate("document.body.dataset.phase || ''")

    @property
    def step(self) -> int:
        """The number of what is asked."""
        return int(self.page.evaluate("document.body.dataset.step || -1"))

    def wait_for(self, *phases: str, after: int = -1) -> str:
        """Wait until the page shows one of these states, of a step later than another; look at its targets."""
        deadline = time.monotonic() + self._timeout
        while True:
            phase, step, sending = self.page.evaluate(SHOWN)
            if phase in phases and step > after and not sending:
                self.at = step
                break
            if time.monotonic() > deadline:
                raise AssertionError(f"the page shows '{self.phase}', expected {phases}: {self.text}")
            self.page.wait_for_timeout(50)
        self.look(phase)
        return phase

    def until(self, expression: str) -> None:
        """Wait until an expression of the page's script is true; the page allows no text to be run as a script."""
        deadline = time.monotonic() + self._timeout
        while not self.page.evaluate(expression):
            if time.monotonic() > deadline:
                raise AssertionError(f"not true: {expression}: {self.text}")
            self.page.wait_for_timeout(50)

    @property
    def text(self) -> str:
        """All text of the page."""
        return self.page.inner_text("body")

    def look(self, phase: str) -> None:
        """Check the targets of a state that is shown, and take a picture of it."""
        self.seen[phase] = self.seen.get(phase, 0) + 1
        if self._pictures is not None and self.seen[phase] == 1:
            self.page.wait_for_timeout(900)
            self.page.screenshot(path=self._pictures / f"{phase}.png")
        small, low = self.page.evaluate(TARGETS, [LEAST_TARGET, phase])
        assert small == [], f"{phase}: targets smaller than {LEAST_TARGET} px: {small}"
        assert low, f"{phase}: the primary action is not in the lower half"
        nameless = self.page.evaluate(NAMELESS)
        assert nameless == [], f"{phase}: fields without a label: {nameless}"
        self.look_at_contrasts(phase)

    def look_at_contrasts(self, phase: str) -> None:
        """Check that each text of the page can be read on its ground."""
        faint = self.page.evaluate(FAINT, LEAST_CONTRAST)
        assert faint == [], f"{phase}: texts with a contrast below {LEAST_CONTRAST}: {faint}"

    def tap(self, selector: str) -> None:
        """Tap something."""
        self.page.locator(selector).first.tap(timeout=self._timeout * 1000)

    def tap_primary(self) -> None:
        """Tap the primary action."""
        self.tap("#primary:not([disabled]):not([inert])")

    def choose(self, command: str) -> None:
        """Tap one of the other actions."""
        self.tap(f'#choices [data-command="{command}"]:not([disabled])')

    def give_reason(self, words: str) -> None:
        """Answer the question of the sheet in words."""
        self.page.fill("#sheet input", words)
        self.tap("#sheet button.on")

    def tap_on_map(self, x: float, y: float) -> None:
        """Tap a point of the map, in its coordinates [m]."""
        self.page.locator(".map").evaluate("map => map.scrollIntoView({block: 'center'})")
        self.page.mouse.click(*self.page.evaluate(ON_SCREEN, [x, y]))

    def close(self) -> None:
        """Close the page; raise where a script of it failed."""
        self.context.close()
        assert self.errors == []


class Cable:
    """Carries the connections between a page and the console's server, until it is pulled out."""

    def __init__(self, link: str) -> None:
        """Begin to carry; ``link`` is the console's."""
        address, _, token = link.partition("/#")
        host, _, port = address.removeprefix("http://").rpartition(":")
        self._server = host, int(port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.link = f"http://127.0.0.1:{self._listener.getsockname()[1]}/#{token}"
        self._ends: list[socket.socket] = []
        self._plugged = True
        threading.Thread(target=self._accept, daemon=True).start()

    def pull(self) -> None:
        """Cut all connections, and let none begin."""
        self._plugged = False
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._ends.clear()

    def plug(self) -> None:
        """Carry again."""
        self._plugged = True

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            if not self._plugged:
                near.close()
                continue
            try:
                far = socket.create_connection(self._server)
            except OSError:
                near.close()
                continue
            self._ends += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    @staticmethod
    def _carry(one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


SHOWN = "[document.body.dataset.phase, Number(document.body.dataset.step ?? -1), sending.size]"
"""Of the page: its state, the number of that, and the commands that have no reply yet."""

ON_SCREEN = """at => {
  const point = new DOMPoint(...at).matrixTransform(document.querySelector(".map").getScreenCTM());
  return [point.x, point.y];
}"""

TARGETS = """([least, phase]) => {
  const shown = element => { const box = element.getBoundingClientRect(); return box.width > 0 && box.height > 0; };
  const box = element => element.closest("label") ? element.closest("label").getBoundingClientRect()
                                                  : element.getBoundingClientRect();
  const small = [...document.querySelectorAll("button, input, textarea, select, a")].filter(shown)
    .filter(element => box(element).width < least || box(element).height < least)
    .map(element => element.outerHTML.slice(0, 90));
  const primary = document.getElementById("primary");
  // While nothing is asked, STOP is the large button; at the end there is none.
  const large = primary.hidden ? document.querySelector('#choices .wide[data-command="stop"]') : primary;
  const low = large !== null && shown(large) && large.getBoundingClientRect().top >= innerHeight / 2;
  return [small, low || phase === "finished"];
}"""


NAMELESS = """() => [...document.querySelectorAll("input, textarea, select")]
  .filter(field => field.checkVisibility() && !field.labels.length && !field.getAttribute("aria-label"))
  .map(field => field.outerHTML.slice(0, 90))"""

FAINT = """least => {
  const numbers = colour => colour.match(/[0-9.]+/g).map(Number);
  const linear = c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const ground = element => {
    for (; element; element = element.parentElement) {
      const colour = numbers(getComputedStyle(element).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  // A button that cannot be pressed now may be faint.
  const shown = element => element.checkVisibility() && !element.closest(":disabled, noscript, option");
  const own = element => element.matches("input, textarea") ||
    [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  return [...document.body.querySelectorAll("*")].filter(element => shown(element) && own(element)).map(element => {
    const style = getComputedStyle(element), svg = element.namespaceURI.endsWith("svg");
    return [element.textContent.slice(0, 40), contrast(numbers(svg ? style.fill : style.color), ground(element))];
  }).filter(([words, found]) => found < least);
}"""


def link_of(run: Path, timeout: float = 60.0) -> str:
    """Wait for a run's console, and return the link to it."""
    deadline = time.monotonic() + timeout
    while (access := read_access(run)) is None:
        if time.monotonic() > deadline:
            raise AssertionError(f"no console in {run}")
        time.sleep(0.1)
    return access.link


def state_of(person: PersonAtThePage) -> dict:
    """Return the state as the session sends it."""
    return json.loads(person.page.evaluate("JSON.stringify(state)"))
