"""A stand-in of the Hugging Face Hub: a local HTTP server that answers as the hub's API does, for `huggingface_hub`."""

import base64
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest


class Hub(BaseHTTPRequestHandler):
    """Repositories of files by branch; what is pushed needs the token `hf_good`."""

    protocol_version = "HTTP/1.1"
    repositories: ClassVar[dict[str, dict[str, dict[str, bytes]]]] = {}
    objects: ClassVar[dict[str, bytes]] = {}
    private: ClassVar[dict[str, bool]] = {}
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self._serve(send=True)

    def do_HEAD(self) -> None:
        self._serve(send=False)

    def do_PUT(self) -> None:
        self.objects[self.path.rpartition("/")[2]] = self._body()
        self._send(200, b"")

    def do_POST(self) -> None:
        self.asked.append(self.path)
        body = self._body()
        if self.path == "/api/validate-yaml":
            return self._json({"warnings": [], "errors": []})
        if self.headers.get("authorization") != "Bearer hf_good":
            return self._send(401, b'{"error": "Invalid username or password."}')
        if self.path == "/api/repos/create":
            return self._create(json.loads(body))
        if match := re.fullmatch(r"/api/models/([\w.-]+/[\w.-]+)/branch/(\w+)", self.path):
            branches = self.repositories[match[1]]
            branches.setdefault(match[2], dict(branches["main"]))
            return self._json({})
        if re.fullmatch(r"/api/models/[\w.-]+/[\w.-]+/preupload/\w+", self.path):
            files = [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular",
                    "shouldIgnore": False,
                }
                for file in json.loads(body)["files"]
            ]
            return self._json({"files": files})
        if self.path.endswith(".git/info/lfs/objects/batch"):
            return self._batch(json.loads(body))
        if match := re.fullmatch(r"/api/models/([\w.-]+/[\w.-]+)/commit/(\w+)", self.path):
            return self._commit(match[1], match[2], [json.loads(line) for line in body.splitlines()])
        return self._send(404, b'{"error": "no such path"}')

    def _create(self, asked: dict[str, Any]) -> None:
        name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
        if name in self.repositories:
            return self._json({"error": "You already created this model repo", "url": self._url(name)}, 409)
        self.repositories[name], self.private[name] = (
            {"main": {}},
            asked.get("visibility", asked.get("private")) in ("private", True),
        )
        return self._json({"url": self._url(name)})

    def _batch(self, asked: dict[str, Any]) -> None:
        objects = [
            {**one, "actions": {"upload": {"href": self._url(f"put/{one['oid']}"), "header": {}}}}
            for one in asked["objects"]
        ]
        self._json({"transfer": "basic", "objects": objects})

    def _commit(self, name: str, branch: str, lines: list[dict[str, Any]]) -> None:
        files = self.repositories[name][branch]
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                data = self.objects[value["oid"]]
                assert hashlib.sha256(data).hexdigest() == value["oid"]
                files[value["path"]] = data
        self._json({"commitUrl": self._url(f"{name}/commit/{'0' * 40}"), "commitOid": "0" * 40, "success": True})

    def _serve(self, send: bool) -> None:
        self.asked.append(self.path)
        match = re.fullmatch(r"/([\w.-]+/[\w.-]+)/resolve/(\w+)/(.+)", self.path)
        files = self.repositories.get(match[1], {}).get(match[2]) if match else None
        if match is None or files is None:
            return self._send(404, b"", {"x-error-code": "RepoNotFound"})
        if match[3] not in files:
            return self._send(404, b"", {"x-error-code": "EntryNotFound", "x-repo-commit": "0" * 40})
        data = files[match[3]]
        tag = {
            "x-repo-commit": hashlib.sha1(match[2].encode()).hexdigest(),
            "etag": f'"{hashlib.sha1(data).hexdigest()}"',
        }
        return self._send(200, data, tag, send)

    def _url(self, place: str) -> str:
        return f"http://{self.headers['host']}/{place}"

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _json(self, value: Any, status: int = 200) -> None:
        self._send(status, json.dumps(value).encode(), {"content-type": "application/json"})

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None, send: bool = True) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "content-length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if send:
            self.wfile.write(data)

    def log_message(self, *values: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    """Run the stand-in, and let `huggingface_hub` ask it, with an empty cache and a token that may write."""
    from huggingface_hub import constants, hf_api

    for kept in (Hub.repositories, Hub.objects, Hub.private, Hub.asked):
        kept.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        # HF_ENDPOINT and HF_HUB_CACHE are read when the library is imported, which other tests have done.
        for module in [module for name, module in sys.modules.items() if name.startswith("huggingface_hub")]:
            if hasattr(module, "ENDPOINT"):
                monkeypatch.setattr(module, "ENDPOINT", url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # another protocol, of servers of its own
        monkeypatch.setattr(hf_api.api, "endpoint", url)
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
        monkeypatch.setenv("HF_ENDPOINT", url)
        monkeypatch.setenv("HF_TOKEN", "hf_good")
        yield Hub
        server.shutdown()
