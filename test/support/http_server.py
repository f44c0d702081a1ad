"""A server that answers POST /act as OpenVLA's does, as a process; written from OpenVLA's own, not with our code.

Run with ``python http_server.py``; its one line of output is its port. What it does wrong, an observation's
instruction says.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

SIZE = 7
SLOW = 0.6
"""How long the slow answer takes [s]; the late one comes when something else is asked for."""
DRIP = 0.02
"""Between two bytes of the dripping answers [s]."""
KEY = "sesame"

else_asked = threading.Event()


def read(value):
    """Read an array as json_numpy does."""
    if "__numpy__" in value:
        data = base64.b64decode(value["__numpy__"])
        return np.frombuffer(data, np.dtype(value["dtype"])).reshape(value["shape"])
    return value


def write(array):
    return {
        "__numpy__": base64.b64encode(array.tobytes()).decode(),
        "dtype": array.dtype.str,
        "shape": array.shape,
    }


def rule(observation):
    """Return the action for an observation: a draw that its content is the seed of."""
    digest = hashlib.sha256(observation["instruction"].encode() + str(observation.get("unnorm_key")).encode())
    digest.update(str(observation.get("seed")).encode())
    digest.update(np.asarray(observation["image"], np.uint8).tobytes())
    return np.random.default_rng(int.from_bytes(digest.digest(), "big")).uniform(-0.02, 0.02, SIZE)


BODIES = {
    "wrong shape": b"[1.0]",
    "no numbers": b'{"a": 1}',
    "short array": b'{"__numpy__": "AAAA", "dtype": "<f8", "shape": [7]}',
    "objects": b'{"__numpy__": "AAAAAAAAAAA=", "dtype": "|O", "shape": [1]}',
    "times": b'{"__numpy__": "AAAAAAAAAAA=", "dtype": "<M8[s]", "shape": [1]}',
    "complex": b'{"__numpy__": "AAAAAAAAAAAAAAAAAADwPw==", "dtype": "<c16", "shape": [1]}',
    "endless shape": b'{"__numpy__": "", "dtype": "<f8", "shape": [%d]}' % (2**70),
    "texts": b'["0", "0", "0", "0", "0", "0", "0"]',
    "beyond float": b"[1" + b"0" * 400 + b", 0, 0, 0, 0, 0, 0]",
    "too many digits": b"[1" + b"0" * 10_000 + b", 0, 0, 0, 0, 0, 0]",
    "many lists": b"[" + b"[]," * 200_000 + b"[]]",
    "too large": b'"' + b" " * (2**24 + 1) + b'"',
    "garbage": bytes(range(255, 0, -1)),
    "error": b'"error"',
    "not finite": b"[NaN, 0, 0, 0, 0, 0, 0]",
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        locked = self.path == "/locked" and self.headers.get("Authorization") != f"Bearer {KEY}"
        self.send_response(401 if locked else 405)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        payload = json.loads(body, object_hook=read)
        double = "encoded" in payload
        if double:
            payload = json.loads(payload["encoded"], object_hook=read)
        if self.path == "/reset":
            self.server.seed = payload["seed"]
            self.answer(200, b"{}", **{"Content-Encoding": "Identity"})
            return
        words = payload["instruction"]
        if words in BODIES:
            self.answer(200, BODIES[words])
        elif words == "raise":
            self.answer(500, b"Traceback:\n  File x\nValueError: I cannot see\n")
        elif words == "elsewhere":
            self.answer(307, b"", Location="/act2")
        elif words == "die":
            os._exit(1)
        elif words == "hang up":
            self.close_connection = True
        elif words == "half":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[0")
            self.close_connection = True
        elif words == "endless":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            self.close_connection = True
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(b" " * 2**16)
        elif words == "compressed":
            self.answer(200, gzip.compress(b"[0, 0, 0, 0, 0, 0, 0]"), **{"Content-Encoding": "gzip"})
        elif words == "no http":
            self.wfile.write(b"\xff" * 64 + b"\r\n\r\n")
            self.close_connection = True
        elif words in ("drip", "drip headers"):
            self.drip(b"HTTP/1.1 200 OK\r\n" + (b"Content-Length: 5000\r\n\r\n" if words == "drip" else b"X-A: "))
        else:
            if words == "late":
                else_asked.clear()
                else_asked.wait()
            else_asked.set()
            time.sleep(SLOW if words == "slow" else 0.0)
            if "seed" in payload:
                payload["seed"] = self.server.seed
            action = rule(payload)
            if double:
                self.answer(200, json.dumps(json.dumps(write(action))).encode())
            elif isinstance(payload["image"], list):
                self.answer(200, json.dumps(action.tolist()).encode())
            else:
                self.answer(200, json.dumps(write(action)).encode())

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def drip(self, head):
        self.close_connection = True
        try:
            self.wfile.write(head)
            while True:
                self.wfile.write(b" ")
                time.sleep(DRIP)
        except OSError:
            return


def main():
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
