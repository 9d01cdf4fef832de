"""The HTTP interface of a model."""

import base64
import io
import json
import socket
import struct
import threading
import time
import urllib.request
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from PIL import Image

import zoo
from zoo.pipeline import Pipeline
from zoo.serve import Limits, application, running


def test_answers_are_those_of_predict(pictures: Any, labeller: str, draw: Any, form_of: Any, tmp_path: Any) -> None:
    files = [tmp_path / f"{seed}.png" for seed in range(3)]
    for seed, file in enumerate(files):
        file.write_bytes(draw(seed))
    wanted = [answer for _, answer in Pipeline(labeller).predict(map(str, files))]
    status, found = pictures("/predict", *form_of(*(file.read_bytes() for file in files)))
    assert status == 200
    assert found["model"] == "vit-micro"
    for answer, labels in zip(found["answers"], wanted, strict=True):
        assert answer["labels"] == pytest.approx(labels, abs=1e-5)
    one = pictures("/predict?top=1", draw(0), {"content-type": "image/png"})[1]["answers"]
    coded = {"input": {"base64": base64.b64encode(draw(0)).decode()}, "top": 1}
    assert pictures("/predict", coded)[1]["answers"] == one
    assert len(one[0]["labels"]) == 1


def test_arrays_of_pixels_are_answered_as_their_files_are(pictures: Any, draw: Any) -> None:
    pixels = np.asarray(Image.open(io.BytesIO(draw(0)))).tolist()
    (found,), (wanted,) = (
        pictures("/predict", *sent)[1]["answers"]
        for sent in (({"input": pixels},), (draw(0), {"content-type": "image/png"}))
    )
    assert found["labels"] == pytest.approx(wanted["labels"], abs=1e-5)


def test_health_page_and_schema(pictures: Any) -> None:
    assert pictures("/health")[1] | {"zoo_version": ""} == {
        "status": "ok", "model": "vit-micro", "task": "classify", "reads_files": True, "answers": True,
        "inputs": "pictures", "zoo_version": "",
    }  # fmt: skip
    page = pictures("/")[1]
    assert "<title>zoo serve</title>" in page
    assert "http" not in page.replace("content-http", "")  # nothing is fetched from elsewhere
    assert set(pictures("/openapi.json")[1]["paths"]) >= {"/predict", "/features", "/health", "/metrics"}


def test_the_page_says_what_the_model_reads(browser: Any, tmp_path: Any) -> None:
    zoo.weights.save(zoo.create("graph-tiny", depth=1, num_classes=1, target="numbers"), tmp_path)
    (tmp_path / "labels.json").write_text('["solubility"]')
    with running(application(Pipeline(str(tmp_path)))) as url:
        page = browser(800).new_page()
        page.goto(url)
        page.locator("#kind", has_text="Graphs").wait_for()
        assert "reads graphs, as SMILES or as JSON with edges;" in page.inner_text("#about")
        assert page.inner_text("#texts").startswith("Graphs, as SMILES or as JSON with edges, one in each line")


def test_health_of_a_model_of_numbers_names_a_regression(tmp_path: Any) -> None:
    zoo.weights.save(zoo.create("graph-tiny", depth=1, num_classes=1, target="numbers"), tmp_path)
    (tmp_path / "labels.json").write_text('["solubility"]')
    with running(application(Pipeline(str(tmp_path)))) as url, urllib.request.urlopen(f"{url}/health") as reply:
        told = json.load(reply)
    assert told["task"] == "regression"
    assert told["inputs"] == "graphs, as SMILES or as JSON with edges"


def bomb(side: int) -> bytes:
    """Write a PNG of black pixels, two in a byte's bit, in a few kilobytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = bytes(1 + side // 8)
    packed = zlib.compressobj(9)
    data = b"".join(packed.compress(row * 100) for _ in range(side // 100)) + packed.flush()
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def test_pictures_of_too_many_pixels_are_refused_by_their_header(pictures: Any, draw: Any, form_of: Any) -> None:
    status, found = pictures("/predict", *form_of(draw(0, size=101)))
    assert (status, found["error"]) == (413, "input 1 has 10,201 pixels, more than 10,000")
    for side in (12_000, 20_000):  # the second is one that Pillow refuses itself
        assert len(bomb(side)) < 100_000
        status, found = pictures("/predict", *form_of(bomb(side)))
        assert (status, found["error"]) == (413, f"input 1 has {side * side:,} pixels, more than 10,000")


@pytest.mark.parametrize(
    ("sent", "status", "text"),
    [
        ({"inputs": ["/etc/passwd"]}, 422, "input 1: the model reads files, and none of this machine is opened"),
        ({"inputs": [1, 2, 3, 4, 5]}, 413, "5 inputs, more than 4"),
        ({"inputs": [[1.5]]}, 422, "pixels are whole numbers"),
        ({"inputs": [[1]]}, 422, "is no image"),
        ({"inputs": ["a"], "top": "x"}, 422, "top='x'"),
        ({"nothing": 1}, 422, 'send {"inputs"'),
    ],
)
def test_malformed_requests_are_told_why(pictures: Any, sent: Any, status: int, text: str) -> None:
    code, found = pictures("/predict", sent)
    assert code == status
    assert text in found["error"]
    assert list(found) == ["error"]


def test_a_file_that_is_none_is_named(pictures: Any, draw: Any, form_of: Any) -> None:
    status, found = pictures("/predict", *form_of(draw(0), b"no picture"))
    assert status == 422
    assert found["error"].startswith("input 2: '1.png' cannot be read")
    for files, text in (((draw(0)[:-400],), "'0.png'"), ((draw(0), draw(1)[:-400]), "input 2: '1.png'")):
        status, found = pictures("/predict", *form_of(*files))
        assert (status, found["error"]) == (422, f"{text} cannot be read: image file is truncated")


def test_other_paths_and_methods_are_answered_in_json(pictures: Any) -> None:
    assert pictures("/no/such/path") == (404, {"error": "Not Found"})
    assert pictures("/predict") == (405, {"error": "Method Not Allowed"})


def test_models_that_write_answer_with_the_options_of_generate(writing: Any) -> None:
    status, found = writing("/predict", {"inputs": ["twelve", "one"], "max_len": 5, "beam": 2, "n_best": 2})
    assert status == 200, found
    assert [len(each["answers"]) for each in found["answers"]] == [2, 2]
    status, found = writing("/predict?max_len=5", b"twelve\none", {"content-type": "text/plain"})
    assert status == 200, found
    stopped = {"input": "twelve", "max_len": 5, "min_len": 2, "repetition_penalty": 1.5, "no_repeat_ngram_size": 2}
    status, found = writing("/predict", stopped | {"stop": ["e"]})
    assert status == 200, found
    for sent, text in (
        ({"inputs": ["a"] * 4, "beam": 8}, "4 x 8 x 20, are 640, more than 400: send fewer inputs"),
        ({"input": "a", "min_len": 7, "max_len": 5}, "min_len=7 is above max_len=5"),
        ({"input": "a", "max_len": 21}, "max_len=21 is more than 20 new tokens"),
        ({"input": "a", "top": 1}, "there is no option 'top'"),
        ({"input": "a" * 51}, "input 1 has 51 characters, more than 50"),
        ({"input": 42}, "input 1 is 42: send a text"),
        ({"input": {}}, "input 1 is {}: send a text"),
    ):
        status, found = writing("/predict", sent)
        assert status in (413, 422)
        assert text in found["error"]


def test_pages_of_other_sites_that_resolve_to_this_machine_are_refused(labeller: str) -> None:
    app = application(Pipeline(labeller), hosts=("127.0.0.1",))
    with running(app) as url, socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
        answer = b""
        while more := connection.recv(1000):
            answer += more
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"""{"error":"Host 'example.com': this server answers for 127.0.0.1 only""" in answer


class Slow(Pipeline):
    """A pipeline that answers when it is let, and counts what it was asked."""

    let, begun, asked = threading.Event(), threading.Event(), 0

    def answers(self, raw: list[Any], masks: int | None = None) -> list[Any]:
        self.asked += len(raw)
        self.begun.set()
        assert self.let.wait(30)
        return super().answers(raw)


def let_later(slow: Slow) -> None:
    time.sleep(0.3)
    slow.let.set()


def post(body: bytes) -> bytes:
    head = f"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Type: image/png\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def test_a_client_that_goes_away_is_not_computed_and_the_others_are(labeller: str, draw: Any) -> None:
    slow = Slow(labeller)
    slow.let, slow.begun = threading.Event(), threading.Event()
    with running(application(slow)) as url:
        place = ("127.0.0.1", int(url.rpartition(":")[2]))
        with socket.create_connection(place) as stays:
            stays.sendall(post(draw(0)))
            assert slow.begun.wait(30)
            with socket.create_connection(place) as leaves:
                leaves.sendall(post(draw(1)))
            with socket.create_connection(place) as half:
                half.sendall(post(draw(1))[:-20])
            time.sleep(0.3)
            slow.let.set()
            assert stays.recv(1000).startswith(b"HTTP/1.1 200")
        with socket.create_connection(place) as later:
            later.sendall(post(draw(2)))
            assert later.recv(1000).startswith(b"HTTP/1.1 200")
    assert slow.asked == 2


def test_no_traceback_is_shown_of_what_takes_too_long_or_fails(labeller: str, draw: Any) -> None:
    slow = Slow(labeller)
    slow.let, slow.begun = threading.Event(), threading.Event()
    with running(application(slow, Limits(timeout=0.2))) as url:
        place = ("127.0.0.1", int(url.rpartition(":")[2]))
        with socket.create_connection(place) as late:
            late.sendall(post(draw(0)))
            assert late.recv(1000).startswith(b"HTTP/1.1 504")
        slow.let.set()
        vars(slow)["preprocess"] = None
        with socket.create_connection(place) as failing:
            failing.sendall(post(draw(0)))
            answer = failing.recv(4000)
            while b"}" not in answer and (more := failing.recv(4000)):  # headers may come before the body
                answer += more
    assert answer.startswith(b"HTTP/1.1 500")
    assert b"the model failed on this request" in answer
    assert b"Traceback" not in answer


def test_stopping_answers_what_was_accepted(labeller: str, draw: Any) -> None:
    slow = Slow(labeller)
    slow.let, slow.begun = threading.Event(), threading.Event()
    with ThreadPoolExecutor() as threads:
        with running(application(slow)) as url:
            place = ("127.0.0.1", int(url.rpartition(":")[2]))
            waiting = [socket.create_connection(place) for _ in range(3)]
            for connection in waiting:
                connection.sendall(post(draw(0)))
            assert slow.begun.wait(30)
            time.sleep(0.2)
            threads.submit(let_later, slow)
        for connection in waiting:
            with connection:
                assert connection.recv(1000).startswith(b"HTTP/1.1 200")


@pytest.mark.slow
def test_a_thousand_requests_of_fifty_clients_are_all_answered_alike(labeller: str, draw: Any, form_of: Any) -> None:
    pipeline = Pipeline(labeller)
    drawn = [draw(seed) for seed in range(20)]
    wanted = pipeline.answers([io.BytesIO(data) for data in drawn])
    with running(application(pipeline)) as url, ThreadPoolExecutor(50) as clients:
        place = url.removeprefix("http://")

        def ask(number: int) -> float:
            import http.client

            connection = http.client.HTTPConnection(place, timeout=60)
            body, headers = form_of(drawn[number % 20])
            connection.request("POST", "/predict", body, headers)
            reply = connection.getresponse()
            found = json.loads(reply.read())
            connection.close()
            assert reply.status == 200
            (answer,) = found["answers"]
            return float(np.abs([answer["labels"][name] - wanted[number % 20][name] for name in ("cat", "dog")]).max())

        assert max(clients.map(ask, range(1000))) < 1e-5


@pytest.mark.slow
def test_sounds_and_molecules_are_answered(tmp_path: Any, form_of: Any) -> None:
    import soundfile

    size: dict[str, Any] = {"depth": 1}
    samples = np.random.default_rng(0).uniform(-1, 1, 8000)
    soundfile.write(file := io.BytesIO(), samples, 16_000, format="WAV")
    for name, task in (("speech-tiny", "tag"), ("speech-tiny", "classify"), ("graph-tiny", "classify")):
        folder = zoo.weights.save(zoo.create(name, task=task, num_classes=3, **size), tmp_path / f"{name}-{task}")
        (folder / "labels.json").write_text('["a", "b", "c"]')
        with running(application(Pipeline(str(folder)))) as url:
            import http.client

            connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
            if name == "graph-tiny":
                body, headers = b'{"inputs": ["CCO", "c1ccccc1"]}', {"content-type": "application/json"}
            else:
                body, headers = form_of(file.getvalue(), file.getvalue())
            connection.request("POST", "/predict", body, headers)
            reply = connection.getresponse()
            text = reply.read().decode()
            connection.close()
            assert reply.status == 200, text
            assert text.count("tags" if task == "tag" else "labels") == 2


def test_a_picture_that_was_read_once_can_be_read_again(pictures: Any, draw: Any) -> None:
    first, again = (pictures("/predict", draw(5), {"content-type": "image/png"}) for _ in range(2))
    assert first == again
    assert Image.open(io.BytesIO(draw(5))).size == (24, 24)
