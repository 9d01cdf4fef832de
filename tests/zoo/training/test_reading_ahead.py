"""Trainings with workers in every modality: the batches, and so the weights, do not depend on their number."""

import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

import zoo
from zoo.data.batches.workers import Workers
from zoo.data.corpus import Batch, Corpus, open_corpus
from zoo.data.corpus_options import with_options
from zoo.training.sampler import Sampler

SIZE: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
spoken = pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")


def pictures(folder: Path) -> str:
    generator = np.random.default_rng(0)
    for number in range(12):
        path = folder / "pictures" / "ab"[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(generator.integers(0, 256, (24, 32, 3), np.uint8)).save(path)
    return f"folder:{folder / 'pictures'}"


def picture_table(folder: Path) -> str:
    import datasets

    datasets.disable_progress_bars()
    draw = np.random.default_rng(0)
    made = [Image.fromarray(draw.integers(0, 256, (24, 32, 3), np.uint8)) for _ in range(40)]
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["a", "b"])})
    data = datasets.Dataset.from_dict({"image": made, "label": [number % 2 for number in range(40)]}, features)
    data.to_parquet(folder / "pictures.parquet")
    return f"parquet:{folder / 'pictures.parquet'}"


def text_table(folder: Path) -> str:
    import datasets

    texts = [f"text number {number}" for number in range(40)]
    data = datasets.Dataset.from_dict({"text": texts, "label": ["ab"[number % 2] for number in range(40)]})
    data.to_parquet(folder / "repository/train.parquet")
    return f"hf:{folder / 'repository'}"


def recordings(folder: Path) -> str:
    import soundfile

    lines = []
    for number in range(12):
        noise = np.random.default_rng(number).normal(0, 0.1, 5000 + 500 * number)
        soundfile.write(folder / f"{number}.wav", noise, 16_000)
        lines.append(json.dumps({"audio": f"{number}.wav", "text": "ab" * (1 + number % 2)}))
    (folder / "manifest.jsonl").write_text("\n".join(lines))
    return f"recordings:{folder}"


def lines(folder: Path) -> str:
    (folder / "lines.txt").write_text(
        "".join(f"line {number} of the text\n" * (1 + number % 3) for number in range(40))
    )
    return f"lines:{folder / 'lines.txt'}"


def graphs(folder: Path) -> str:
    rows = [
        {
            "edges": [[i, (i + 1) % n] for i in range(n)],
            "x": [[i / n] for i in range(n)],
            "label": "even" if n % 2 else "odd",
        }
        for n in range(3, 33)
    ]
    (folder / "graphs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return f"graphs:{folder / 'graphs.jsonl'}"


def named(text: str) -> Callable[[Path], str]:
    return lambda folder: text


DATA = {
    "digits": ("vit-micro", named("digits")),
    "cards": ("vit-micro", named("cards")),
    "pictures": ("vit-micro", pictures),
    "augmented": ("vit-micro", pictures),
    "picture table": ("vit-micro", picture_table),
    "text table": ("bert-tiny", text_table),
    "pairs": ("transformer-tiny", named("reverse:3-5")),
    "lines": ("decoder-tiny", lines),
    "masked": ("bert-tiny", lines),
    "tags": ("bert-tiny", named("tags")),
    "recordings": ("speech-tiny", recordings),
    "clips": ("speech-tiny", named("spoken-digits:words?train=100")),
    "frames": ("speech-tiny", named("spoken-digits:frames?train=100")),
    "speech": ("speech-synthesis-tiny", named("one-voice")),
    "graphs": ("graph-tiny", graphs),
    "drawn": ("graph-tiny", named("drawn-graphs:triangle?count=60")),
    "nodes": ("graph-tiny", named("karate")),
}
"""A model and data of each kind of corpus."""
TASK = {"masked": "masked-token", "tags": "tag", "clips": "classify", "frames": "tag", "nodes": "tag"}
AUGMENT = {"augmented": "rand+mixup+cutmix+erasing"}
MARKS = {
    "clips": [spoken, pytest.mark.slow],
    "frames": [spoken, pytest.mark.slow],
    "speech": [spoken, pytest.mark.slow],
}
KINDS = [pytest.param(kind, marks=MARKS.get(kind, [])) for kind in DATA]
LEARNED = [
    pytest.param(kind, marks=MARKS.get(kind, []))
    for kind in ("augmented", "picture table", "text table", "pairs", "masked", "recordings", "graphs")
]


@pytest.fixture(autouse=True)
def _offline(offline: None, few_texts: None) -> None:
    """Keep the cache apart, and the hub out; draw few texts."""


@pytest.fixture
def threads() -> Iterator[None]:
    """Let this process compute with two threads, other than workers."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def opened(kind: str, folder: Path) -> Corpus:
    model, source = DATA[kind]
    task = {"task": TASK[kind]} if kind in TASK else {}
    return with_options(open_corpus(source(folder), zoo.info(model).with_config(**SIZE | task)), AUGMENT.get(kind))


def read(corpus: Corpus, workers: int) -> list[Batch]:
    """Read batches of two epochs, from the third on, and the held-out ones between them."""
    sampler = Sampler(corpus, 8, seed=3)
    with Workers(sampler, corpus, workers=workers):
        training = sampler.batches(3)
        found = [*islice(training, 4), *islice(corpus.held_out("validation", 8), 3)]
        return [*found, *islice(training, min(2 * sampler.per_epoch, 8)), *islice(corpus.held_out("test", 8), 3)]


def assert_same(one: list[Batch], other: list[Batch]) -> None:
    for a, b in zip(one, other, strict=True):
        for x, y in zip((*a.inputs, a.target), (*b.inputs, b.target), strict=True):
            assert type(x) is type(y)
            assert torch.equal(x.nan_to_num(), y.nan_to_num()) if isinstance(x, Tensor) else x is y is None


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("kind", KINDS)
def test_workers_make_the_batches_that_are_made_without_them(kind: str, tmp_path: Path) -> None:
    corpus = opened(kind, tmp_path)
    assert_same(read(corpus, 2), read(corpus, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_a_corpus_is_pickled_for_workers_that_are_spawned(kind: str, tmp_path: Path) -> None:
    corpus = opened(kind, tmp_path)
    assert_same(read(pickle.loads(pickle.dumps(corpus)), 0), read(corpus, 0))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This DataLoader will create 3 worker")
@pytest.mark.parametrize("kind", LEARNED)
def test_the_weights_do_not_depend_on_the_workers(kind: str, tmp_path: Path) -> None:
    model, source = DATA[kind]
    data, task = source(tmp_path), {"task": TASK[kind]} if kind in TASK else {}
    options: dict[str, Any] = {"steps": 6, "validations": 3, "batch_size": 4, "accumulate": 2, "dropout": 0.1}
    options["augment"] = AUGMENT.get(kind)
    for workers in (0, 3):
        zoo.train(model, data, out=tmp_path / str(workers), workers=workers, **options, **SIZE | task)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in "03"]
    assert weights[0] == weights[1]
    records = [json.loads((tmp_path / name / "training.json").read_text()) for name in "03"]
    assert [record["settings"]["workers"] for record in records] == [0, 3]
    assert records[0]["history"] == records[1]["history"]
    assert records[0]["test"] == records[1]["test"]
    assert all(0 <= record["waiting_for_data"] <= 1 for record in records)


TRAIN = ["train", "vit-micro", "--augment", "rand+mixup", "--steps", "40", "--validations", "40", "--batch-size", "4"]
PLAIN = ["--precision", "32-true", *(f"--set={key}={value}" for key, value in SIZE.items()), "--set=dropout=0.2"]


def start(data: str, out: Path, workers: int, log: Any = None) -> "subprocess.Popen[bytes]":
    """Start a training, which writes a checkpoint after each step, in a process group of its own, as a shell does."""
    own = ["--data", data, "--out", str(out), "--workers", str(workers), "--resume"]
    command = [sys.executable, "-m", "zoo", *TRAIN, *PLAIN, *own]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stderr=log, start_new_session=True)


def wait_for_steps(process: "subprocess.Popen[bytes]", out: Path) -> None:
    before = set((out / "state").glob("step-*"))
    while process.poll() is None and not set((out / "state").glob("step-*")) - before:
        time.sleep(0.01)
    assert process.poll() is None


def end(process: "subprocess.Popen[bytes]") -> int:
    """Wait for the end, and that no process of the group is left."""
    code = process.wait(timeout=300)
    for _ in range(200):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return code
        time.sleep(0.05)
    raise AssertionError("a worker is left")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the workers in /proc")
@pytest.mark.parametrize("make", [pictures, picture_table])
def test_whatever_ends_a_training_with_workers_it_leaves_none_and_goes_on_exactly(
    tmp_path: Path, make: Callable[[Path], str]
) -> None:
    data = make(tmp_path)
    assert end(start(data, tmp_path / "whole", workers=0)) == 0
    out, log = tmp_path / "out", tmp_path / "log"

    process = start(data, out, workers=2)
    wait_for_steps(process, out)
    os.killpg(process.pid, signal.SIGINT)  # Ctrl-C
    assert end(process) == 130

    with log.open("wb") as file:
        process = start(data, out, workers=2, log=file)
        wait_for_steps(process, out)
        (worker, _) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(worker), signal.SIGKILL)  # as where memory has run out
        assert end(process) == 2
    told = rf"^zoo: --workers 2: a worker, process {worker}, was killed by signal 9 \(SIGKILL\); .* memory has run out."
    assert re.search(f"{told} Set fewer, such as --workers 1 with --resume, .* below 4$", log.read_text(), re.MULTILINE)

    process = start(data, out, workers=2)
    wait_for_steps(process, out)
    process.kill()
    assert end(process) == -signal.SIGKILL

    assert end(start(data, out, workers=1)) == 0
    files = [(folder / "model.safetensors").read_bytes() for folder in (out, tmp_path / "whole")]
    assert files[0] == files[1]
    histories = [json.loads((folder / "training.json").read_text())["history"] for folder in (out, tmp_path / "whole")]
    assert histories[0] == histories[1]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the workers in /proc")
@pytest.mark.parametrize(("kind", "augment"), [("recordings", "speed+noise"), ("graphs", "drop-edges+mask-nodes")])
def test_a_killed_training_with_workers_goes_on_exactly_on_examples_changed_at_random(
    kind: str, augment: str, tmp_path: Path
) -> None:
    model, source = DATA[kind]
    data = source(tmp_path)
    script = (
        "import sys, zoo\n"
        "zoo.train(sys.argv[1], sys.argv[2], out=sys.argv[3], workers=int(sys.argv[4]), resume=True,\n"
        "augment=sys.argv[5],\n"
        f"    steps=30, validations=30, batch_size=4, dropout=0.1, **{SIZE!r})"
    )

    def begin(out: str, workers: int) -> "subprocess.Popen[bytes]":
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-c",
            script,
            model,
            data,
            str(tmp_path / out),
            str(workers),
            augment,
        ]
        return subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, start_new_session=True)

    assert end(begin("whole", 0)) == 0
    process = begin("out", 2)
    wait_for_steps(process, tmp_path / "out")
    process.kill()
    assert end(process) == -signal.SIGKILL
    assert end(begin("out", 1)) == 0
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "out")]
    assert files[0] == files[1]
