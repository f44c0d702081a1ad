"""The console as a web application: the page, its state as a stream of events, commands, pictures.

Every request has the token in the header ``Authorization``, which no other site can make a browser send. Exceptions are
the page's own files, which hold nothing of a session, and a stop from this machine itself.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from importlib.resources import files
from typing import Any, Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, Router

from robocontrast_ros.console.commands import Command, Stop, read_command
from robocontrast_ros.console.console import Reply

LARGEST_BODY = 16_384
"""Greatest size of a request's body [byte]."""

LONGEST_ERROR = 200
"""Greatest number of characters of an error's message in the log."""

LOOKS_PER_SECOND = 20
"""Frequency at which a stream looks for a change [Hz]."""

HEARTBEAT = 2.0
"""Period of a stream's signs of life [s]: a page that receives nothing for three periods connects anew."""

PAGE = {
    "/": ("index.html", "text/html"),
    "/console.css": ("console.css", "text/css"),
    "/console.js": ("console.js", "text/javascript"),
}

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_LOGGER = logging.getLogger(__name__)
_PORT = re.compile(r":[0-9]*$")

Scope = MutableMapping[str, Any]


class OperatorView(Protocol):
    """The state that the application shows and acts on. Its methods may be called from any thread."""

    @property
    def version(self) -> int:
        """A number that grows with every change of the state."""

    @property
    def now(self) -> float:
        """The time on the clock of the state's `now` [s]."""

    def shown(self) -> dict[str, Any]:
        """Return the state as JSON."""

    def carry_out(self, command: Command) -> Reply:
        """Carry a command out, once."""

    def picture(self, name: str) -> bytes | None:
        """Return the picture ``camera`` or ``target`` as JPEG; None if there is none now."""


def console_app(operator_view: OperatorView, token: str) -> Callable[..., Awaitable[None]]:
    """Return the ASGI application.

    Args:
        operator_view: the content of the application.
        token: the token that opens it.
    """
    # Not a `Starlette`: that would answer an error itself and raise it again. There are no redirects, because an
    # answer reports nothing of a path but whether it is one of ours.
    return _Guard(Router(_Pages(operator_view, token).routes(), redirect_slashes=False))


class _Pages:
    def __init__(self, operator_view: OperatorView, token: str) -> None:
        self._operator_view, self._token = operator_view, token.encode()
        folder = files("robocontrast_ros.console") / "page"
        self._files = {path: ((folder / name).read_bytes(), kind) for path, (name, kind) in PAGE.items()}

    def routes(self) -> list[Route]:
        return [
            *(Route(path, self._file, methods=["GET"]) for path in PAGE),
            Route("/events", self._events, methods=["GET"]),
            Route("/view", self._view, methods=["GET"]),
            Route("/command", self._command, methods=["POST"]),
            Route("/stop", self._stop, methods=["POST"]),
            Route("/{name:str}.jpg", self._picture, methods=["GET"]),
        ]

    def _opens(self, request: Request) -> bool:
        kind, _, shown = request.headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and secrets.compare_digest(shown.encode(errors="replace"), self._token)

    async def _file(self, request: Request) -> Response:
        content, kind = self._files[request.scope["path"]]
        return Response(content, media_type=kind)

    async def _view(self, request: Request) -> Response:
        if not self._opens(request):
            return _closed()
        return JSONResponse(await run_in_threadpool(self._operator_view.shown))

    async def _events(self, request: Request) -> Response:
        if not self._opens(request):
            return _closed()
        return StreamingResponse(self._stream(request), media_type="text/event-stream")

    async def _stream(self, request: Request) -> AsyncIterator[str]:
        sent, silent = -1, 0.0
        while not await request.is_disconnected():
            version = self._operator_view.version
            if version != sent:
                shown = await run_in_threadpool(self._operator_view.shown)
                sent, silent = shown["version"], 0.0
                yield f"data: {json.dumps(shown)}\n\n"
            elif silent >= HEARTBEAT:
                silent = 0.0
                # With the time: the clock of a phone does not run while the phone sleeps.
                yield f": alive {self._operator_view.now:.3f}\n\n"
            await asyncio.sleep(1.0 / LOOKS_PER_SECOND)
            silent += 1.0 / LOOKS_PER_SECOND
        if self._operator_view.version != sent:
            # The server closes: the last change, such as the session's end, is still sent.
            yield f"data: {json.dumps(await run_in_threadpool(self._operator_view.shown))}\n\n"

    async def _command(self, request: Request) -> Response:
        if not self._opens(request):
            return _closed()
        try:
            command = read_command(await _body(request))
        except ValueError as error:
            return _refusal(422, str(error))
        return await self._done(command)

    async def _stop(self, request: Request) -> Response:
        if not (self._opens(request) or _from_here(request)):
            return _closed()
        await _body(request)
        return await self._done(Stop(id=secrets.token_urlsafe(12), reason="stopped by a request to /stop"))

    async def _done(self, command: Command) -> Response:
        reply = await run_in_threadpool(self._operator_view.carry_out, command)
        return JSONResponse({"accepted": reply.accepted, "detail": reply.detail}, 200 if reply.accepted else 409)

    async def _picture(self, request: Request) -> Response:
        if not self._opens(request):
            return _closed()
        content = await run_in_threadpool(self._operator_view.picture, request.path_params["name"])
        if content is None:
            return PlainTextResponse("no picture", 404)
        return Response(content, media_type="image/jpeg")


class _Guard:
    """Refuses requests that are too large or come from another site, and answers in one line if something fails."""

    def __init__(self, inner: Callable[..., Awaitable[None]]) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        if scope["type"] != "http":
            # There are no websockets.
            await send({"type": "websocket.close", "code": 1008})
            return
        begun = False

        async def sending(message: Any) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                own = [(k.lower().encode(), v.encode()) for k, v in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *own]}
            try:
                await send(message)
            except Exception:
                # The client's fault, such as a body that is no HTTP any more: the server has answered already.
                raise ClientDisconnect from None

        try:
            refused = _refused(Request(scope))
            await (refused or self._inner)(scope, receive, sending)
        except _TooLarge:
            await _too_large()(scope, receive, sending)
        except ClientDisconnect:
            pass
        except Exception as error:
            # Only the terminal shows the message of an error.
            words = " ".join(str(error).split())[:LONGEST_ERROR]
            _LOGGER.error("%s %r failed: %s: %s", scope["method"], scope["path"], type(error).__name__, words)
            if not begun:
                await _refusal(500, type(error).__name__)(scope, receive, sending)


class _TooLarge(Exception):
    pass


def _refused(request: Request) -> Response | None:
    """Return the refusal of a request that another site may have caused; None if it is accepted."""
    if request.method in ("GET", "HEAD"):
        return None
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        return _refusal(403, "a request of another site")
    # No form of a page can send this type; a script of another site would have to ask before it sends.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return _refusal(415, "expected the type application/json")
    # A body of unknown length is counted as it arrives.
    if int(request.headers.get("content-length", "0")) > LARGEST_BODY:
        return _too_large()
    return None


async def _body(request: Request) -> bytes:
    parts = bytearray()
    async for part in request.stream():
        parts += part
        if len(parts) > LARGEST_BODY:
            raise _TooLarge
    return bytes(parts)


def _from_here(request: Request) -> bool:
    """Return whether a request comes from this machine, and its address names this machine.

    A connection of this machine to itself has the same address at both ends.
    """
    ends = request.client, request.scope.get("server")
    name = _PORT.sub("", request.headers.get("host", "")).strip("[]")
    try:
        client, server = (_address(end[0]) for end in ends if end is not None)
        wanted = client if name == "localhost" and client.is_loopback else _address(name)
    except ValueError:
        return False
    return client == server == wanted or (client.is_loopback and server.is_loopback and wanted.is_loopback)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    found = ipaddress.ip_address(text)
    return getattr(found, "ipv4_mapped", None) or found


def _closed() -> Response:
    return _refusal(401, "open the page by the link, or the QR code, that the terminal shows")


def _too_large() -> Response:
    return _refusal(413, f"more than {LARGEST_BODY} bytes")


def _refusal(status: int, detail: str) -> Response:
    return JSONResponse({"accepted": False, "detail": detail}, status)
