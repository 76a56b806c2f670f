#!/usr/bin/env python3
"""A small model hub with faults, on two ports of this machine: the hub, and the store that it sends some requests on
to.

server.py MODEL.gguf: writes `ports` (hub store) when it listens, and a line for each request to `log`:
hub|store METHOD PATH RANGE TOKEN STATUS. While a file `moved` exists, t/branch has another commit; while `hold`
exists, t/slow stops half way. Repositories are "t/<what goes wrong>": Hub.list and Hub.resolve know them.
"""
import hashlib
import http.server
import json
import os
import pathlib
import sys
import threading
import time
import urllib.parse

MODEL = pathlib.Path(sys.argv[1]).read_bytes()
OTHER = bytes(b ^ 0x55 for b in MODEL)
COMMIT, NEXT = "1234567890abcdef" * 2 + "12345678", "fedcba0987654321" * 2 + "fedcba09"
TOKEN = "Bearer hf_sesame"
ONE = {"model.gguf": MODEL}
CHECKPOINT = {
    "config.json": b'{"type": "smolvla"}\n', "model.safetensors": MODEL, "tokenizer/vocab.json": b"{}",
    "policy_preprocessor.json": b"{}\n", "merges.txt": b"a b\n", "spiece.model": b"\0\1\2", "README.md": b"# hello\n",
    "last/config.json": b"{}", "last/b c+\u00e9.safetensors": OTHER, "last/empty.json": b"", "train.py": b"import os\n",
}
LEROBOT = {path.name: path.read_bytes() for path in pathlib.Path(sys.argv[2]).iterdir()}
REPOSITORIES = {
    "plain": ONE, "cdn": ONE, "private": ONE, "cut": ONE, "norange": ONE, "changed": ONE, "busy": ONE, "down": ONE,
    "later": ONE, "slow": ONE, "branch": ONE, "loop": ONE, "gone": ONE, "hash": ONE, "short": ONE, "long": ONE,
    "shifted": ONE, "ftp": ONE, "teapot": ONE, "rename": ONE, "part416": ONE,
    "slowly-wrong": ONE, "restless": ONE, "patchwork": ONE,
    "two": {"a.gguf": MODEL, "b.gguf": OTHER, "Q4/model-q4.gguf": OTHER}, "none": {"README.md": b"hello"}, "empty": {},
    "checkpoint": CHECKPOINT, "lerobot": LEROBOT,
}
HOSTILE = {
    "up": "../../../../escaped", "middle": "a/../../escaped", "absolute": "/tmp/escaped", "backslash": "..\\escaped",
    "empty": "a//b", "control": "a\x1b[2Jb", "nul": "a\0b", "dot": "./a", "last": "a/", "long": "a" * 201,
    "longer": "/".join(["abc"] * 300), "nothing": "",
}
counts = {}
lock = threading.Lock()


def count(what):
    with lock:
        counts[what] = counts.get(what, 0) + 1
        return counts[what]


def sibling(path, content, lfs):
    """As the hub lists a file: small ones are git's, large ones in large file storage."""
    git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    out = {"rfilename": path, "blobId": git, "size": len(content)}
    if lfs:
        out["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
    return out


def listing(name, commit):
    if name.startswith("hostile-"):
        siblings = [sibling("model.gguf", MODEL, True), sibling(HOSTILE[name[8:]], b"harm", False)]
    else:
        siblings = [sibling(path, content, path.endswith((".gguf", ".safetensors")))
                    for path, content in REPOSITORIES[name].items()]
    if name == "hash":
        siblings[0]["lfs"]["sha256"] = hashlib.sha256(OTHER).hexdigest()
    if name in ("short", "long"):
        siblings[0]["lfs"]["size"] += 10 if name == "short" else -10
    if name == "branch" and commit == NEXT:
        siblings = [sibling("model.gguf", OTHER, True)]
    return json.dumps({"_id": "1", "id": "t/" + name, "sha": commit, "gated": False, "siblings": siblings}).encode()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    where = None

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", **headers):
        with lock, open("log", "a") as log:
            print(self.where, self.command, self.path, self.headers.get("Range", "-"),
                  self.headers.get("Authorization", "-").replace("Bearer ", ""), status, file=log)
        self.send_response(status)
        for field, value in headers.items():
            self.send_header(field.replace("_", "-"), str(value))
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def start(self):
        """The first byte that is asked for."""
        asked = self.headers.get("Range", "")
        return int(asked[6:-1]) if asked.startswith("bytes=") else 0

    def send(self, content, shift=0):
        """The file, or the part of it that is asked for."""
        start = self.start()
        if start == 0:
            self.answer(200, content, Accept_Ranges="bytes")
        elif start >= len(content):
            self.answer(416, Content_Range=f"bytes */{len(content)}")
        else:
            self.answer(206, content[start:],
                        Content_Range=f"bytes {start + shift}-{len(content) - 1}/{len(content)}")

    def cut(self, content, n=None, **headers):
        """Half of what is promised, or n bytes, then the line goes dead."""
        self.answer(200, content[:n or len(content) // 2], Content_Length=len(content), **headers)
        self.close_connection = True


class Store(Handler):
    where = "store"

    def do_GET(self):
        self.send(MODEL)


class Hub(Handler):
    where = "hub"

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path).path.split("/")
        if parts[1:4] == ["api", "models", "t"] and parts[5:6] == ["revision"] and len(parts) == 7:
            self.list(parts[4], parts[6])
        elif len(parts) >= 6 and parts[1] == "t" and parts[3] == "resolve":
            self.resolve(parts[2], urllib.parse.unquote("/".join(parts[5:])))
        else:
            self.answer(404, b"no such page", X_Error_Code="RepoNotFound")

    def list(self, name, revision):
        commit = revision
        if revision == "main":
            commit = NEXT if name == "branch" and os.path.exists("moved") else COMMIT
        elif revision == "v1%2F2":
            commit = COMMIT
        if name == "redirected":
            self.answer(307, Location=self.path.replace("redirected", "plain"))
        elif name == "secret" and self.headers.get("Authorization") != TOKEN:
            self.answer(401, b"{}", X_Error_Code="RepoNotFound")
        elif name == "huge":
            self.answer(200, b'{"sha": "' + b" " * (33 << 20) + b'"}')
        elif name == "page":
            self.answer(200, b"<html>log in to the hotel's network</html>")
        elif name == "other-commit":
            self.answer(200, listing("plain", NEXT))
        elif name == "plain-list":
            self.answer(200, json.dumps({"sha": COMMIT, "siblings": [{"rfilename": "model.gguf"}]}).encode())
        elif name == "interrupted" and count(name) == 1:
            self.cut(listing("plain", COMMIT))
        elif name == "interrupted" and self.start():  # an answer that can't be put together from parts
            self.answer(206, b"}", Content_Range=f"bytes {self.start()}-{self.start()}/{self.start() + 1}")
        elif name == "interrupted":
            self.answer(200, listing("plain", COMMIT))
        elif name == "flood":
            self.flood()
        elif name not in REPOSITORIES and not name.startswith("hostile-"):
            self.answer(404, b"{}", X_Error_Code="RepoNotFound")
        elif commit not in (COMMIT, NEXT):
            self.answer(404, b"{}", X_Error_Code="RevisionNotFound")
        else:
            self.answer(200, listing(name, commit))

    def resolve(self, name, path):
        content = REPOSITORIES.get(name, ONE)[path]
        store = "http://localhost:%d" % PORTS[1]
        n = count(name)
        if name in ("plain", "checkpoint", "lerobot", "two", "hash", "short", "long", "branch", "interrupted",
                    "redirected"):
            self.send(OTHER if name == "branch" and NEXT in self.path else content)
        elif name == "cdn":
            self.answer(302, b"there", Location=f"{store}/object?signature=a%2Fb")
        elif name == "private":
            gate = self.headers.get("Authorization") == TOKEN
            if gate and "other=1" in self.path:
                self.answer(302, Location=f"{store}/object")
            elif gate:
                self.answer(302, Location=f"{self.path}?other=1")
            else:
                self.answer(403 if self.headers.get("Authorization") else 401, b"no", X_Error_Code="GatedRepo")
        elif name in ("cut", "norange", "changed", "shifted") and n == 1:
            self.cut(OTHER if name == "changed" else content)
        elif name == "restless":  # never to the end, and always from the start
            self.cut(content, len(content) - 1, Retry_After=0)
        elif name == "patchwork" and self.start():
            self.send(OTHER)
        elif name == "patchwork":
            self.cut(content, Retry_After=0)
        elif name == "norange":
            self.answer(200, content)
        elif name == "shifted":
            self.send(content, shift=1)
        elif name in ("cut", "changed"):
            self.send(content)
        elif name == "busy":
            if n <= 2:
                self.answer(429, b"slow down", Retry_After=n - 1)
            else:
                self.send(content)
        elif name == "down":
            self.answer(503, b"down", Retry_After=0)
        elif name == "later":
            self.answer(429, b"slow down", Retry_After=3600)
        elif name == "slow":
            self.trickle(content)
        elif name == "slowly-wrong" and n == 1:
            self.trickle(OTHER)
        elif name == "slowly-wrong":
            self.send(content)
        elif name == "part416" and self.start():
            self.answer(416, b"no")
        elif name == "part416":
            self.cut(content) if n == 1 else self.send(content)
        elif name == "loop":
            self.answer(302, Location=self.path)
        elif name == "rename":
            self.answer(301, Location=self.path.replace("rename", "plain"))
        elif name == "ftp":
            self.answer(302, Location="file:///etc/passwd")
        elif name == "teapot":
            self.answer(418, b"short and stout")
        else:
            self.answer(404, b"no such file", X_Error_Code="EntryNotFound")

    def flood(self):
        """An error's page that is far too long."""
        self.answer(404, Content_Length=1 << 40, X_Error_Code="RepoNotFound")
        self.close_connection = True
        try:
            for _ in range(1 << 10):
                self.wfile.write(b"x" * (1 << 18))
            pathlib.Path("flooded").touch()
        except OSError:  # the client has gone
            pass

    def trickle(self, content):
        """Half of it, and the rest once there is no file `hold`."""
        start = self.start()
        self.answer(206 if start else 200, Content_Length=len(content) - start,
                    Content_Range=f"bytes {start}-{len(content) - 1}/{len(content)}")
        half = (start + len(content)) // 2
        try:
            self.wfile.write(content[start:half])
            while os.path.exists("hold"):
                time.sleep(0.02)
            self.wfile.write(content[half:])
        except OSError:  # the client has gone
            self.close_connection = True


hub, store = Server(("127.0.0.1", 0), Hub), Server(("127.0.0.1", 0), Store)
PORTS = hub.server_address[1], store.server_address[1]
threading.Thread(target=store.serve_forever, daemon=True).start()
pathlib.Path("ports.new").write_text("%d %d\n" % PORTS)
os.rename("ports.new", "ports")
hub.serve_forever()
