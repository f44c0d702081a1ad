"""The console's pages over a real server: who is let in, and what is refused."""

from __future__ import annotations

import json
import socket
import threading
from http.client import HTTPConnection

import pytest
from console_requests import JSON, OPENED, TOKEN, head, served
from recorded_console import TIME_LIMIT

from robocontrast_ros.console.commands import Start, Stop
from robocontrast_ros.console.web import HEADERS, LARGEST_BODY

START = {"command": "start", "id": "a1", "step": 0, "at": 1.5}
LOCAL = "Host: 127.0.0.1"


@pytest.fixture(scope="module")
def console():
    with served() as one:
        yield one


@pytest.fixture(autouse=True)
def forget(console):
    console.operator_view.given.clear()
    console.operator_view.fails = False


def refused(answer, status):
    found, headers, body = answer
    assert found == status, body
    content = json.loads(body)
    assert content["accepted"] is False and content["detail"] and "\n" not in content["detail"]
    assert body.count(b"\n") == 0 and headers["Content-Type"] == "application/json"


# -- who is let in --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/console.css", "/console.js"])
def test_the_page_s_own_files_are_shown_to_all_with_headers_that_keep_others_out(console, path):
    status, headers, body = console.request("GET", path)
    assert status == 200 and body
    for name, value in HEADERS.items():
        assert headers.get_all(name) == [value]
    assert "server" not in headers and TOKEN.encode() not in body


WRONG = [
    {},
    {"Authorization": ""},
    {"Authorization": "Bearer "},
    {"Authorization": "Bearer"},
    {"Authorization": TOKEN},
    {"Authorization": f"Basic {TOKEN}"},
    {"Authorization": f"Bearer {TOKEN[:-1]}"},
    {"Authorization": f"Bearer {TOKEN}x"},
    {"Authorization": f"Bearer  {TOKEN}"},
    {"Authorization": f"Bearer {TOKEN.upper()}"},
    {"Authorization": "Bearer \xff\xe9"},
    {"Cookie": f"token={TOKEN}"},
    {"X-Forwarded-For": "127.0.0.1"},
]


@pytest.mark.parametrize("headers", WRONG, ids=str)
def test_nothing_is_shown_or_done_without_the_token(console, headers):
    for path in ("/view", "/events", "/camera.jpg", "/target.jpg", f"/view?token={TOKEN}"):
        refused(console.request("GET", path, headers=headers), 401)
    refused(console.request("POST", "/command", json.dumps(START), {**JSON, **headers}), 401)
    assert console.operator_view.given == []


def test_with_the_token_state_pictures_and_commands_are_there(console):
    status, headers, body = console.request("GET", "/view", headers=OPENED)
    assert status == 200 and json.loads(body)["phase"] == "waiting" and headers["Cache-Control"] == "no-store"
    assert console.request("GET", "/camera.jpg", headers=OPENED)[2].startswith(b"\xff\xd8")
    assert console.request("GET", "/target.jpg", headers=OPENED)[0] == 404
    assert console.request("GET", "/x.jpg", headers=OPENED)[0] == 404
    assert console.command(START)[0] == 200
    assert console.operator_view.given == [Start(id="a1", step=0, at=1.5)]


def test_the_state_comes_as_a_stream_that_tells_each_change(console):
    connection = HTTPConnection("127.0.0.1", console.port, timeout=TIME_LIMIT)
    connection.request("GET", "/events", headers=OPENED)
    answer = connection.getresponse()
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    first = json.loads(answer.readline().removeprefix(b"data: "))
    console.operator_view.version += 1
    answer.readline()
    assert json.loads(answer.readline().removeprefix(b"data: "))["version"] == first["version"] + 1
    answer.readline()
    # Nothing changes: it says that it lives, and what time it is.
    assert answer.readline() == b": alive 100.000\n"
    connection.close()


# -- stopping -------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:80", "localhost", "localhost:1", "[::1]", "[::1]:8000"])
def test_a_stop_is_taken_from_this_machine_without_the_token(console, host):
    assert console.request("POST", "/stop", b"", {**JSON, "Host": host})[0] == 200
    assert [type(command) for command in console.operator_view.given] == [Stop]


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "localhost.evil.example:80"},
        {"Host": "192.0.2.7"},
        {"Host": ""},
        {"Host": "["},
    ],
    ids=str,
)
def test_a_stop_that_was_meant_for_another_name_is_not_taken(console, headers):
    refused(console.request("POST", "/stop", b"", {**JSON, **headers}), 401)
    assert console.operator_view.given == []


def test_a_stop_from_another_machine_is_not_taken_without_the_token():
    own = own_other_address()
    if own is None:
        pytest.skip("this machine has no address but loopback")
    with served(host="0.0.0.0") as one:
        for more in ({}, {"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}):
            connection = HTTPConnection(own, one.port, timeout=TIME_LIMIT)
            connection.request("POST", "/stop", b"", {**JSON, "Host": "127.0.0.1", **more})
            assert connection.getresponse().status == 401
            connection.close()
        connection = HTTPConnection(own, one.port, timeout=TIME_LIMIT, source_address=("127.0.0.1", 0))
        connection.request("POST", "/stop", b"", JSON)
        assert connection.getresponse().status == 401, "its two ends have different addresses"
        connection.close()
        assert one.operator_view.given == []
        assert one.request("POST", "/stop", b"", {**JSON, **OPENED, "Host": "console.lab"})[0] == 200


def test_a_stop_from_this_machine_is_taken_at_its_address_in_the_network_too():
    own = own_other_address()
    if own is None:
        pytest.skip("this machine has no address but loopback")
    with served(host="0.0.0.0") as one:
        connection = HTTPConnection(own, one.port, timeout=TIME_LIMIT)
        connection.request("POST", "/stop", b"", JSON)
        assert connection.getresponse().status == 200
        connection.close()
        assert len(one.operator_view.given) == 1


def own_other_address():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            found = probe.getsockname()[0]
        except OSError:
            return None
    return None if found.startswith("127.") else found


# -- other sites ----------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:1", "http://127.0.0.1", "", "x"])
def test_commands_and_stops_of_another_site_are_refused_even_with_the_token(console, origin):
    refused(console.command(START, {"Origin": origin}), 403)
    refused(console.request("POST", "/stop", b"", {**JSON, "Origin": origin}), 403)
    assert console.operator_view.given == []


def test_a_request_that_names_no_host_cannot_pass_for_one_of_this_site(console):
    answer = console.raw(b"POST /stop HTTP/1.0\r\nOrigin: null\r\nContent-Type: application/json\r\n\r\n")
    assert b" 403 " in answer.splitlines()[0] and console.operator_view.given == []


def test_the_page_itself_may_send_commands(console):
    assert console.command(START, {"Origin": f"http://127.0.0.1:{console.port}"})[0] == 200


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/jsonp"],
)
def test_what_a_form_can_send_is_refused(console, kind):
    refused(console.command(START, {"Content-Type": kind}), 415)
    refused(console.request("POST", "/stop", b"", {"Content-Type": kind}), 415)
    assert console.operator_view.given == []


# -- paths and methods ----------------------------------------------------------------------------

PATHS = [
    "/../console.js",
    "/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/..%2f..%2fetc%2fpasswd",
    "/%2e%2e%5cconsole.py",
    "/..\\web.py",
    "//console.js",
    "//evil.example/",
    "/console.js/",
    "/view/",
    "/console.js%00.css",
    "/%00",
    "/web.py",
    "/page/index.html",
    "/index.html",
    "/console.css%3f",
    "/%ff%fe",
    "/.%0d%0aX: y",
    "console.js",
    "/static/../console.js",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_other_path_is_answered_or_sent_elsewhere(console, path):
    for more in ("", f"\r\nAuthorization: Bearer {TOKEN}"):
        answer = console.raw(f"GET {path} HTTP/1.1\r\n{LOCAL}{more}\r\nConnection: close\r\n\r\n".encode("latin-1"))
        assert answer.split(b" ", 2)[1] in (b"404", b"400"), answer
        assert b"location:" not in answer.lower() and b"root:" not in answer


def test_pictures_have_no_paths(console):
    for path in ("/../camera.jpg", "/%2e%2e%2fcamera.jpg", "/a%5ccamera.jpg", "/camera.jpg%00", "/%00.jpg"):
        assert console.request("GET", path, headers=OPENED)[0] == 404


@pytest.mark.parametrize("host", ["a/b", "a/b?c#d", "[", "[x", "a b", "\xff", "@", "127.0.0.1:99999999"])
def test_a_strange_host_does_not_matter_to_the_page(console, host):
    answer = console.raw(f"GET /console.js HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode("latin-1"))
    assert answer.split(b" ", 2)[1] == b"200"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"])
def test_other_methods_are_refused(console, method):
    for path in ("/", "/view", "/command", "/stop"):
        status, headers, _ = console.request(method, path, b"", {**JSON, **OPENED})
        assert status == 405 and "Access-Control-Allow-Origin" not in headers
        assert console.request(method, path, b"", OPENED)[0] == 415
    assert console.request("GET", "/command", headers=OPENED)[0] == 405
    assert console.request("POST", "/view", b"{}", {**JSON, **OPENED})[0] == 405
    assert console.operator_view.given == []


def test_refusals_have_the_same_headers(console):
    for answer in (console.request("GET", "/view"), console.request("GET", "/nothing"), console.command(b"{")):
        for name, value in HEADERS.items():
            assert answer[1].get_all(name) == [value]


@pytest.mark.parametrize("path", ["/", "/events", "/view", "/ws"])
def test_there_is_no_websocket(console, path):
    lines = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
    answer = console.raw(head("GET", path, LOCAL, *lines, "Sec-WebSocket-Version: 13"))
    assert answer.split(b" ", 2)[1] == {"/": b"200", "/ws": b"404"}.get(path, b"401")


# -- bodies ---------------------------------------------------------------------------------------


def test_a_body_that_tells_that_it_is_too_large_is_refused_before_it_comes(console):
    lines = (LOCAL, "Content-Type: application/json", f"Authorization: Bearer {TOKEN}", "Connection: close")
    for size in (LARGEST_BODY + 1, 10**9, 10**18):
        answer = console.raw(head("POST", "/command", *lines, f"Content-Length: {size}"), whole=False)
        assert answer.startswith(b"HTTP/1.1 413 ")
        refused((413, {"Content-Type": "application/json"}, answer.rpartition(b"\r\n\r\n")[2]), 413)
    refused(console.command(b" " * (LARGEST_BODY + 1)), 413)
    assert console.operator_view.given == []


@pytest.mark.parametrize("path", ["/command", "/stop"])
def test_a_body_that_turns_out_to_be_too_large_is_refused(console, path):
    lines = (LOCAL, "Content-Type: application/json", f"Authorization: Bearer {TOKEN}", "Connection: close")
    piece = b"1000\r\n" + b" " * 4096 + b"\r\n"
    answer = console.raw(head("POST", path, *lines, "Transfer-Encoding: chunked") + piece * 6, whole=False)
    assert answer.startswith(b"HTTP/1.1 413 ") and f"{LARGEST_BODY}".encode() in answer
    assert console.operator_view.given == []


def test_a_body_in_pieces_is_read(console):
    pieces = [json.dumps(START).encode()[k : k + 3] for k in range(0, 60, 3)]
    pieces = [piece for piece in pieces if piece]
    headers = {**JSON, **OPENED}
    assert console.request("POST", "/command", iter(pieces), headers)[0] == 200


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"[" * 16_000,
        b'{"a":' * 3_000,
        b"[]",
        b"null",
        b'"start"',
        b'{"command": ["start"], "id": "a"}',
        b'{"command": "start", "id": 7, "step": 0}',
        b'{"command": "start", "id": "a", "step": {}}',
        b'{"command": "start", "id": "a", "step": 0, "more": 1}',
        b'{"command": "reboot", "id": "a"}',
    ],
    ids=lambda content: content[:50].decode(errors="replace"),
)
def test_what_is_no_command_is_refused_in_one_line(console, content):
    refused(console.command(content), 422)
    assert console.operator_view.given == []


def test_a_client_that_leaves_in_the_middle_does_no_harm(console, capfd):
    lines = (LOCAL, "Content-Type: application/json", f"Authorization: Bearer {TOKEN}", "Content-Length: 100")
    for part in (b"", b'{"command": "start"'):
        console.raw(head("POST", "/command", *lines) + part)
    assert console.request("GET", "/")[0] == 200
    assert console.operator_view.given == [] and capfd.readouterr().err == ""


def test_a_body_that_is_no_http_any_more_does_no_harm(console, capfd):
    lines = (LOCAL, "Content-Type: application/json", "Transfer-Encoding: chunked")
    for path in ("/command", "/stop", "/view"):
        answer = console.raw(head("POST", path, *lines) + b"no length\r\n", whole=False)
        assert answer.split(b" ", 2)[1] in (b"400", b"401", b"405")
        answer = console.raw(
            head("POST", path, *lines, f"Authorization: Bearer {TOKEN}") + b"4\r\nabcdef\r\n", whole=False
        )
        assert answer.split(b" ", 2)[1] in (b"400", b"405")
    assert console.request("GET", "/")[0] == 200
    assert console.operator_view.given == [] and capfd.readouterr().err == ""


def test_an_error_is_told_in_one_line_without_what_it_says(console, caplog):
    console.operator_view.fails = True
    status, _, body = console.request("GET", "/view", headers=OPENED)
    assert status == 500 and json.loads(body) == {"accepted": False, "detail": "RuntimeError"}
    assert caplog.messages == ["GET '/view' failed: RuntimeError: secret words Traceback"]
    console.operator_view.fails = False
    assert console.request("GET", "/view", headers=OPENED)[0] == 200


def test_an_open_stream_ends_with_the_server_and_without_complaint(capfd):
    with served() as one:
        connection = HTTPConnection("127.0.0.1", one.port, timeout=TIME_LIMIT)
        connection.request("GET", "/events", headers=OPENED)
        answer = connection.getresponse()
        answer.readline()
        rest = threading.Thread(target=answer.read, daemon=True)
        rest.start()
    rest.join(TIME_LIMIT)
    assert not rest.is_alive()
    connection.close()
    assert capfd.readouterr().err == ""


def test_what_changed_last_is_sent_before_the_server_closes():
    with served() as one:
        connection = HTTPConnection("127.0.0.1", one.port, timeout=TIME_LIMIT)
        connection.request("GET", "/events", headers=OPENED)
        answer = connection.getresponse()
        answer.readline(), answer.readline()
        # Faster than the stream looks for changes.
        one.server._server.should_exit = True
        one.operator_view.version += 1
        assert json.loads(answer.readline().removeprefix(b"data: "))["version"] == one.operator_view.version
        connection.close()
