"""A small classifier of pictures behind a server, and a client that sends what it is told."""

import http.client
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
import torch
from PIL import Image

import zoo
from zoo.pipeline import Pipeline
from zoo.serve import Limits, application, running

SIZE: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}


def picture(seed: int, size: int = 24) -> bytes:
    """Draw a picture, as the bytes of a PNG."""
    pixels = np.random.default_rng(seed).integers(0, 255, (size, size, 3), np.uint8)
    Image.fromarray(pixels).save(file := io.BytesIO(), "PNG")
    return file.getvalue()


def form(*files: bytes, **fields: str) -> tuple[bytes, dict[str, str]]:
    """Write a form with files and fields, and its header."""
    parts = [(f'name="{name}"', value.encode()) for name, value in fields.items()]
    parts += [(f'name="file"; filename="{number}.png"', data) for number, data in enumerate(files)]
    body = b"".join(
        b"--end\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n" % (name.encode(), data) for name, data in parts
    )
    return body + b"--end--\r\n", {"content-type": "multipart/form-data; boundary=end"}


class Client:
    """A client of a server: (path, body or value of JSON, headers) to status and answer.

    Args:
        url: of the server.
    """

    def __init__(self, url: str) -> None:
        self.url, self.place = url, urlsplit(url).netloc

    def __call__(self, path: str, sent: Any = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        """Send a request, POST where there is something to send."""
        connection = http.client.HTTPConnection(self.place, timeout=60)
        if not isinstance(sent, bytes | None):
            sent, headers = json.dumps(sent).encode(), {"content-type": "application/json"}
        connection.request("GET" if sent is None else "POST", path, sent, headers or {})
        reply = connection.getresponse()
        body = reply.read()
        connection.close()
        return reply.status, json.loads(body) if "json" in reply.headers["content-type"] else body.decode()


@pytest.fixture(scope="session")
def draw() -> Callable[..., bytes]:
    """Give what draws pictures."""
    return picture


@pytest.fixture(scope="session")
def form_of() -> Callable[..., tuple[bytes, dict[str, str]]]:
    """Give what writes forms."""
    return form


@pytest.fixture(scope="session")
def labeller(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Save a small classifier of pictures."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("labeller")
    zoo.weights.save(zoo.create("vit-micro", num_classes=2, **SIZE), folder)
    (folder / "labels.json").write_text('["cat", "dog"]')
    return str(folder)


@pytest.fixture(scope="session")
def pictures(labeller: str) -> Iterator[Client]:
    """Serve it, and give a client."""
    limits = Limits(max_bytes=100_000, max_inputs=4, amounts={"pixels": 10_000})
    with running(application(Pipeline(labeller), limits)) as url:
        yield Client(url)


@pytest.fixture(scope="session")
def writer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Save a small encoder-decoder of bytes."""
    torch.manual_seed(0)
    folder: Path = tmp_path_factory.mktemp("writer")
    zoo.weights.save(zoo.create("transformer-tiny", **SIZE), folder)
    read: Any = zoo.preprocess("transformer-tiny")
    read.tokenizer.save(folder / "tokenizer.json")
    return str(folder)


@pytest.fixture(scope="session")
def writing(writer: str) -> Iterator[Client]:
    """Serve it, and give a client."""
    with running(application(Pipeline(writer), Limits(max_new=20, max_tokens=400, amounts={"characters": 50}))) as url:
        yield Client(url)
