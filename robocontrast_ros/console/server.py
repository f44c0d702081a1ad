"""The web server of the console, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import ipaddress
import socket
import struct
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvicorn

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.console.idle_timeout import IdleTimeoutProtocol

SIOCGIFADDR = 0x8915
"""The request of Linux for the address of a network interface."""

CLOSING = 3
"""Time for which open connections may last after the end [s]."""


class ConsoleServer:
    """Serves an application."""

    def __init__(
        self,
        app: Callable[..., Awaitable[None]],
        host: str,
        port: int,
        certificate: Path | None = None,
        key: Path | None = None,
        source: str = "operator",
    ) -> None:
        """Open the port, so that its number is known; no request is answered before ``start``.

        Args:
            app: the ASGI application.
            host: address to listen on.
            port: 0 for a free one.
            certificate: file of the certificate for TLS; None for none.
            key: file of its key.
            source: source of these parameters, for errors.

        Raises:
            ConfigurationError: the port cannot be opened, or certificate and key cannot be used.
        """
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            # `::` means all addresses of this machine, as `0.0.0.0` means all of IPv4.
            both = family is socket.AF_INET6 and host == "::" and socket.has_dualstack_ipv6()
            self._socket = socket.create_server((host, port), family=family, dualstack_ipv6=both)
        except (OSError, UnicodeError, OverflowError) as error:
            expected = f"an address of this machine and a free port: {getattr(error, 'strerror', None) or error}"
            raise ConfigurationError(source, "host, port", f"{host}, {port}", expected) from None
        self._tls = certificate is not None
        config = uvicorn.Config(
            self._ending(app),
            http=IdleTimeoutProtocol,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            # A client that does not send HTTP is not worth a line. The application logs its own errors.
            log_level="critical",
            # Only the connection shows the origin of a request; headers of proxies are not believed.
            proxy_headers=False,
            timeout_graceful_shutdown=CLOSING,
            ssl_certfile=certificate,
            ssl_keyfile=key,
            # A key that needs a password is refused; without this, OpenSSL would ask for it on the terminal, and wait.
            ssl_keyfile_password="-",
        )
        try:
            config.load()
        except OSError as error:
            self._socket.close()
            files = f"{certificate}, {key}"
            expected = f"a certificate and its key in PEM: {error.strerror or error}"
            raise ConfigurationError(source, "certificate, key", files, expected) from None
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="console", daemon=True)

    @property
    def url(self) -> str:
        """The address for a browser; for one on another machine if the server can be reached from there."""
        host, port = self._socket.getsockname()[:2]
        if ipaddress.ip_address(host).is_unspecified:
            host = own_address()
        name = f"[{host}]" if ":" in host else host
        return f"{'https' if self._tls else 'http'}://{name}:{port}"

    def start(self) -> None:
        """Start the server."""
        self._thread.start()

    def close(self) -> None:
        """End the server."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(timeout=CLOSING + 2.0)
        self._socket.close()

    def _ending(self, app: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        """Return an application whose streams end when the server does, instead of being cancelled."""

        async def inner(scope: Any, receive: Any, send: Any) -> None:
            async def receiving() -> Any:
                return {"type": "http.disconnect"} if self._server.should_exit else await receive()

            await app(scope, receiving if scope.get("method") == "GET" else receive, send)

        return inner

    def _serve(self) -> None:
        asyncio.run(self._served())

    async def _served(self) -> None:
        asyncio.get_running_loop().set_exception_handler(_note)
        await self._server.serve(sockets=[self._socket])


def _note(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Ignore an error that a client caused by not sending HTTP: its connection is closed."""
    if "protocol" not in context:
        loop.default_exception_handler(context)


def own_address() -> str:
    """Return this machine's address in its network; 127.0.0.1 if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        with contextlib.suppress(OSError):
            # Sends nothing: it only asks for the route of a packet.
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        # A lab's network without a route to other networks.
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                asked = struct.pack("256s", name[:15].encode())
                address = socket.inet_ntoa(fcntl.ioctl(probe, SIOCGIFADDR, asked)[20:24])
                if not ipaddress.ip_address(address).is_loopback:
                    return address
    return "127.0.0.1"
