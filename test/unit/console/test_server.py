"""The console's server and its access: addresses, TLS, what is left in the run folder."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import time
from http.client import HTTPConnection, HTTPSConnection

import cv2
import numpy as np
import pytest
from console_requests import JSON, OPENED, TOKEN, served
from recorded_console import TIME_LIMIT, RecordingOperatorView
from two_hosts import NotAllowed, two_hosts

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.console import idle_timeout
from robocontrast_ros.console.access import FILE, Access, new_token, read_access
from robocontrast_ros.console.server import ConsoleServer
from robocontrast_ros.console.web import console_app


def app():
    return console_app(RecordingOperatorView(), TOKEN)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A certificate for 127.0.0.1 and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    asked = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    named = ["-subj", "/CN=console", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        ["openssl", "req", *asked, *named, "-keyout", key, "-out", certificate], check=True, capture_output=True
    )
    return certificate, key


# -- addresses ------------------------------------------------------------------------------------


def test_a_port_in_use_is_refused_and_named():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ConfigurationError, match=rf"session\.yaml.*host, port.*{port}.*in use"):
            ConsoleServer(app(), "127.0.0.1", port, source="session.yaml")


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid", "x" * 70, "a..b", "1::2::3"])
def test_an_address_that_is_not_this_machine_s_is_refused(host):
    with pytest.raises(ConfigurationError, match="an address of this machine"):
        ConsoleServer(app(), host, 0)


def test_the_address_is_one_that_a_browser_can_open():
    server = ConsoleServer(app(), "127.0.0.1", 0)
    assert server.url.startswith("http://127.0.0.1:")
    server.close()
    with served(host="0.0.0.0") as one:
        assert "0.0.0.0" not in one.server.url
        host = one.server.url.removeprefix("http://").rpartition(":")[0]
        connection = HTTPConnection(host, one.port, timeout=TIME_LIMIT)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        connection.close()


def test_all_addresses_of_both_kinds_are_served_and_this_machine_is_known_by_each():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with served(host="::") as one:
        for host in ("127.0.0.1", "::1"):
            connection = HTTPConnection(host, one.port, timeout=TIME_LIMIT)
            connection.request("POST", "/stop", b"", JSON)
            assert connection.getresponse().status == 200
            connection.close()


def test_a_server_that_was_never_started_or_was_closed_leaves_its_port_free():
    server = ConsoleServer(app(), "127.0.0.1", 0)
    port = int(server.url.rpartition(":")[2])
    server.close()
    again = ConsoleServer(app(), "127.0.0.1", port)
    again.start()
    connection = HTTPConnection("127.0.0.1", port, timeout=TIME_LIMIT)
    connection.request("GET", "/")
    connection.getresponse().read()
    connection.close()
    again.close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), TIME_LIMIT)


# -- silence --------------------------------------------------------------------------------------


def closed_after(one, *parts):
    """Return how long a connection stays open on which only these parts of a request come [s]."""
    with socket.create_connection(("127.0.0.1", one.port), TIME_LIMIT) as connection:
        began = time.monotonic()
        for part in parts:
            connection.sendall(part)
        with contextlib.suppress(ConnectionResetError):
            while connection.recv(65536):
                pass
        return time.monotonic() - began


BEGUN = b"POST /stop HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 20\r\n"
WHOLE = b"GET /console.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.mark.parametrize("parts", [(), (b"G",), (BEGUN,), (BEGUN, b"\r\n", b"{"), (WHOLE, b"GET /vi")])
def test_a_connection_on_which_no_whole_request_comes_is_closed(parts, monkeypatch):
    monkeypatch.setattr(idle_timeout, "SILENCE", 0.5)
    with served() as one:
        assert closed_after(one, *parts) >= 0.4


def test_an_open_stream_of_events_is_no_silence(monkeypatch):
    monkeypatch.setattr(idle_timeout, "SILENCE", 0.3)
    with served() as one:
        connection = HTTPConnection("127.0.0.1", one.port, timeout=TIME_LIMIT)
        connection.request("GET", "/events", headers=OPENED)
        answer = connection.getresponse()
        # The second heartbeat comes long after the time that a request may take.
        beats = 0
        while beats < 2:
            beats += answer.readline().startswith(b": alive")
        connection.close()


def test_of_too_many_silent_connections_the_oldest_are_closed_and_a_page_is_served(monkeypatch):
    monkeypatch.setattr(idle_timeout, "MOST", 20)
    with served() as one, contextlib.ExitStack() as open_ones:
        address = "127.0.0.1", one.port
        silent = [open_ones.enter_context(socket.create_connection(address, TIME_LIMIT)) for _ in range(30)]
        connection = HTTPConnection(*address, timeout=TIME_LIMIT)
        connection.request("GET", "/view", headers=OPENED)
        assert connection.getresponse().status == 200
        connection.close()
        with contextlib.suppress(ConnectionResetError):
            assert silent[0].recv(1) == b""
        silent[-1].settimeout(0.2)
        with pytest.raises(TimeoutError):
            silent[-1].recv(1)


# -- TLS ------------------------------------------------------------------------------------------


def test_with_a_certificate_it_is_served_over_tls_alone(files):
    certificate, key = files
    server = ConsoleServer(app(), "127.0.0.1", 0, certificate, key)
    server.start()
    try:
        assert server.url.startswith("https://127.0.0.1:")
        port = int(server.url.rpartition(":")[2])
        context = ssl.create_default_context(cafile=certificate)
        connection = HTTPSConnection("127.0.0.1", port, timeout=TIME_LIMIT, context=context)
        connection.request("GET", "/view", headers=OPENED)
        assert json.loads(connection.getresponse().read())["phase"] == "waiting"
        own = {**JSON, **OPENED, "Origin": f"https://127.0.0.1:{port}"}
        connection.request("POST", "/command", json.dumps({"command": "stop", "id": "a"}), own)
        assert connection.getresponse().status == 200
        connection.close()
        plain = HTTPConnection("127.0.0.1", port, timeout=TIME_LIMIT)
        plain.request("GET", "/")
        with pytest.raises((http.client.HTTPException, OSError)):
            plain.getresponse()
        plain.close()
    finally:
        server.close()


def test_a_certificate_or_key_that_cannot_be_used_is_refused_and_the_port_is_free_again(files, tmp_path):
    certificate, key = files
    garbage, locked = tmp_path / "garbage.pem", tmp_path / "locked.pem"
    garbage.write_bytes(os.urandom(400))
    command = ["openssl", "ec", "-in", key, "-aes256", "-passout", "pass:sesame", "-out", locked]
    subprocess.run(command, check=True, capture_output=True)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    wrong = [
        (tmp_path / "none.pem", key),
        (certificate, tmp_path / "none.pem"),
        (garbage, key),
        (certificate, garbage),
        (certificate, certificate),
        (certificate, None),
        (tmp_path, key),
        # A key with a password: nobody is asked for it.
        (certificate, locked),
    ]
    for pair in wrong:
        with pytest.raises(ConfigurationError, match=r"session\.yaml.*certificate, key.*in PEM") as refused:
            ConsoleServer(app(), "127.0.0.1", port, *pair, source="session.yaml")
        assert len(str(refused.value).splitlines()) == 1
    ConsoleServer(app(), "127.0.0.1", port, certificate, key).close()


# -- access ---------------------------------------------------------------------------------------


def test_the_address_and_the_token_are_for_their_owner_alone(tmp_path):
    Access("http://127.0.0.1:1", TOKEN).write(tmp_path)
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert read_access(tmp_path) == Access("http://127.0.0.1:1", TOKEN)
    assert os.listdir(tmp_path) == [FILE]


def test_what_an_interrupted_write_left_does_not_open_the_file_to_others(tmp_path):
    for name in (".console.part.json", FILE):
        (tmp_path / name).write_text("{}")
        (tmp_path / name).chmod(0o666)
    Access("http://127.0.0.1:1", TOKEN).write(tmp_path)
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_the_token_is_the_same_after_a_restart_and_another_one_in_another_run(tmp_path):
    runs = [tmp_path / name for name in "ab"]
    tokens = []
    for run in runs:
        run.mkdir()
        tokens.append(new_token(run))
        Access("http://127.0.0.1:1", tokens[-1]).write(run)
    assert [new_token(run) for run in runs] == tokens and tokens[0] != tokens[1]
    assert all(len(token) >= 20 for token in tokens)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"url": "http://x"}',
        '{"url": "http://x", "token": ""}',
        '{"url": "http://x", "token": null}',
        '{"url": "http://x", "token": "short"}',
        '{"url": "http://x", "token": "with a space, and long enough"}',
        "[" * 100_000,
    ],
    ids=lambda content: content[:50],
)
def test_a_file_without_a_good_token_is_no_access_and_a_new_token_is_made(tmp_path, content):
    (tmp_path / FILE).write_text(content)
    assert read_access(tmp_path) is None
    assert len(new_token(tmp_path)) >= 20
    (tmp_path / FILE).write_bytes(b"\xff\x00")
    assert read_access(tmp_path) is None


def test_the_link_keeps_the_token_where_no_server_logs_it():
    access = Access("https://192.0.2.1:8443", TOKEN)
    assert access.link == f"https://192.0.2.1:8443/#{TOKEN}"


def test_a_camera_reads_the_link_from_the_qr_code():
    access = Access("http://192.0.2.1:45321", TOKEN)
    rows = access.qr_code().rstrip("\n").splitlines()
    # Each character is two dots, one above the other; on a dark terminal what is printed is light.
    dots = {"█": (1, 1), "▀": (1, 0), "▄": (0, 1), " ": (0, 0), "\xa0": (0, 0)}
    columns = max(map(len, rows))
    grid = np.array([np.array([dots[c] for c in row.ljust(columns)]).T for row in rows]).reshape(-1, columns)
    picture = np.kron(grid, np.ones((8, 8))).astype(np.uint8) * 255
    picture = cv2.copyMakeBorder(picture, 40, 40, 40, 40, cv2.BORDER_CONSTANT, value=255)
    assert cv2.QRCodeDetector().detectAndDecode(picture)[0] == access.link


def test_a_network_without_a_way_out_has_an_address_too():
    asked = "from robocontrast_ros.console.server import own_address; print(own_address())"
    try:
        with two_hosts() as (one, _):
            said = subprocess.run([*one, sys.executable, "-c", asked], check=True, capture_output=True, text=True)
    except NotAllowed as reason:
        pytest.skip(str(reason))
    assert said.stdout.strip().startswith("10.77.0.")
