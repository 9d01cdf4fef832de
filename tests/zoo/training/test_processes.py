"""Trainings of two processes on one machine: `fsdp` does what `ddp` does, goes on, and all have one vocabulary."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo

pytestmark = pytest.mark.slow


def launch(folder: Path, script: str, *arguments: str) -> None:
    """Run a script, which starts the second process itself."""
    path = folder / "script.py"
    path.write_text(script)
    command = [sys.executable, str(path), str(folder), *arguments]
    subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=True, timeout=400)


STRATEGIES = """
import sys
import torch
from torch.distributed.tensor import DTensor
torch.set_num_threads(1)
import zoo
from zoo.core.losses.loss import cross_entropy
from zoo.training.optimization.optimizers import optimizers_for
from zoo.training.losses.attention_losses import GuidedAttention
from zoo.training.losses.objectives import Corrupted, ScheduledSampling
from zoo.data.corpus import Batch
from zoo.training.loop import Plan, fit
from zoo.training.config import Devices
from zoo.training.distributed.devices import launch

fabric = launch(Devices(devices=2, strategy=sys.argv[2], accelerator="cpu"), "32-true")
small = dict(dim=16, depth=2, num_heads=2, mlp_dim=17, vocab_size=11, dropout=0.1)

def texts():
    generator = torch.Generator().manual_seed(7 + fabric.global_rank)
    while True:  # of other lengths in each process
        n = int(torch.randint(3, 6, (), generator=generator))
        ids = torch.randint(3, 11, (2, n), generator=generator)
        edge = torch.ones(2, 1, dtype=torch.long)
        target = torch.cat([ids, 2 * edge], 1)
        target[0, -2:] = -100
        yield Batch((ids, torch.tensor([n, n - 1]), torch.cat([edge, ids], 1)), target)

def pictures():
    generator = torch.Generator().manual_seed(7 + fabric.global_rank)
    while True:
        x = torch.randn(4, 1, 8, 8, generator=generator, dtype=torch.float64)
        yield Batch((x,), torch.randint(3, (4,), generator=generator))

def asked(forward, batch, step):
    return cross_entropy(forward(*batch.inputs), batch.target)

def own(forward, batch, step):
    return forward.training_loss(batch.inputs, batch.target, 0.1)

def aided(model):
    guided = GuidedAttention(asked, model, 0.5, 0.2)
    return Corrupted(ScheduledSampling(guided, model, lambda step: 0.5), model, 0.2)

def train(name, options, batches, optimizer, objective):
    torch.manual_seed(0 if sys.argv[2] == "ddp" else fabric.global_rank)  # the first process's weights count
    model = zoo.create(name, **options).double().to(memory_format=torch.channels_last)
    optimizers = optimizers_for(optimizer, model, 0.01, 0.1)
    shares = []

    def loss(forward, batch, step):
        kept = [p for o in optimizers for group in o.param_groups for p in group["params"]]
        here = sum((p.to_local() if isinstance(p, DTensor) else p).numel() for p in kept)
        shares.append(here / sum(p.numel() for p in kept))
        return (aided(model) if objective == "aided" else objective)(forward, batch, step)

    torch.manual_seed(5 + fabric.global_rank)
    plan = Plan(steps=4, schedule=lambda step: 1.0, clip=0.5, accumulate=2, validations=2)
    outcome = fit(model, loss, batches, optimizers, plan=plan, fabric=fabric)
    weights = dict(model.named_parameters() if fabric.global_rank else model.state_dict())  # statistics are the first's
    return {"weights": weights, "losses": [e.loss for e in outcome.history], "share": max(shares)}

images = dict(num_classes=3, in_chans=1, image_size=8)
torch.save({
    "adam": train("transformer-tiny", small, texts(), "adam", "aided"),
    "muon": train("transformer-tiny", small, texts(), "muon", asked),
    "own loss": train("nat-base", small, texts(), "adam", own),
    "convolutions": train("resnet-micro", images, pictures(), "adamw", asked),
}, f"{sys.argv[1]}/{sys.argv[2]}-{fabric.global_rank}.pt")
"""


def test_two_processes_train_with_parted_weights_as_with_whole_ones(tmp_path: Path) -> None:
    """Also with gradients added up and clipped, aids, shared embeddings, sizes that two does not divide."""
    for strategy in ("ddp", "fsdp"):
        launch(tmp_path, STRATEGIES, strategy)
    whole, *parted = (torch.load(tmp_path / f"{name}.pt") for name in ("ddp-0", "fsdp-0", "fsdp-1"))
    for case, wanted in whole.items():
        # Muon multiplies in bf16, where sums in another order differ
        near = 2e-3 if case == "muon" else 1e-8
        assert wanted["share"] == 1
        for given in (each[case] for each in parted):
            assert given["share"] < 0.6
            assert given["losses"] == pytest.approx(wanted["losses"], rel=near)
            for key, value in given["weights"].items():
                torch.testing.assert_close(value.detach(), wanted["weights"][key], atol=near, rtol=near)


RESUMED = """
import signal, sys
import torch
torch.set_num_threads(1)
import zoo
from zoo.data.corpus import open_corpus

class Stops:  # after five batches, in the second process only
    def __init__(self, corpus):
        self.corpus, self.left = corpus, 5
    def __getattr__(self, name):
        return getattr(self.corpus, name)
    def batch(self, index, generator):
        self.left -= 1
        if not self.left and sys.argv[3] == "stop" and torch.distributed.get_rank():
            signal.raise_signal(signal.SIGINT)
        return self.corpus.batch(index, generator)

data = Stops(open_corpus("digits", zoo.info("vit-micro")))
trained = zoo.train("vit-micro", data, out=f"{sys.argv[1]}/{sys.argv[2]}", resume=True, steps=9, validations=3,
                    batch_size=8, precision="32-true", accelerator="cpu", devices=2, strategy="fsdp", dim=16,
                    depth=2, num_heads=2, mlp_dim=17, dropout=0.2)
assert trained.outcome.ended == ("asked to" if sys.argv[3] == "stop" else "all steps"), trained.outcome
assert type(trained.model).__name__ == "VisionTransformer", type(trained.model)
"""


def test_a_training_with_parted_weights_goes_on_as_if_never_stopped(tmp_path: Path) -> None:
    launch(tmp_path, RESUMED, "whole", "run")
    launch(tmp_path, RESUMED, "stopped", "stop")
    (kept,) = (tmp_path / "stopped" / "state").glob("step-*5")
    assert json.loads((kept / "state.json").read_text())["step"] == 5
    launch(tmp_path, RESUMED, "stopped", "run")
    whole, stopped = (tmp_path / name for name in ("whole", "stopped"))
    assert (stopped / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    records = [json.loads((folder / "training.json").read_text()) for folder in (whole, stopped)]
    assert records[0]["history"] == records[1]["history"]
    assert records[0]["test"] == records[1]["test"]
    assert records[0]["processes"] == 2
    model: Any = zoo.create(f"local-dir:{stopped}", pretrained=True).eval()
    assert model(torch.zeros(1, 1, 8, 8)).shape == (1, 10)


VOCABULARY = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
import zoo
from zoo.plugins.shared.text import vocabulary
from zoo.training import trainer as run
from zoo.training.distributed.shared_corpus import tokenizer_text

rank = lambda: torch.distributed.get_rank()
learn, opened = vocabulary.learn, run.Trainer.open

def once(*arguments):
    assert rank() == 0, "a vocabulary learned in another process"
    return learn(*arguments)

def told(self, data):
    corpus = opened(self, data)
    (Path(sys.argv[1]) / f"{rank()}.json").write_text(tokenizer_text(corpus))
    return corpus

vocabulary.learn, run.Trainer.open = once, told
zoo.train("transformer-tiny", f"{sys.argv[1]}/pairs.tsv", out=f"{sys.argv[1]}/out", steps=2, validations=1,
          batch_size=8,
          precision="32-true", tokenizer="wordpiece:60", accelerator="cpu", devices=2, strategy="ddp", dim=16,
          depth=1, num_heads=2, mlp_dim=16)
"""


def test_a_vocabulary_is_learned_in_one_process_and_told_to_the_other(tmp_path: Path) -> None:
    words = [f"{a}{b}{c}" for a in "abcde" for b in "fghi" for c in "jkl"]
    (tmp_path / "pairs.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in words))
    launch(tmp_path, VOCABULARY)
    first, second, saved = (tmp_path / name for name in ("0.json", "1.json", "out/tokenizer.json"))
    assert len(json.loads(first.read_text())["model"]["vocab"]) > 30
    assert first.read_text() == second.read_text() == saved.read_text()


def test_two_machines_train_together_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("".join(f"{n}\t{n}{n}\n" for n in range(40)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = ["--num-nodes", "2", "--devices", "1", "--strategy", "ddp", "--accelerator", "cpu"]
    size = ["--set", "dim=16", "--set", "depth=1", "--set", "num_heads=2", "--set", "mlp_dim=16", "--batch-size", "4"]
    command = [
        sys.executable,
        "-c",
        "from zoo.cli.app import main; main()",
        "train",
        "transformer-tiny",
        "--steps",
        "3",
        "--validations",
        "1",
    ]
    machines = []
    for rank in range(2):
        named = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "NODE_RANK": str(rank), "OMP_NUM_THREADS": "1"}
        given = ["--data", str(tmp_path / "pairs.tsv"), "--out", str(tmp_path / "out"), *where, *size]
        machines.append(subprocess.Popen([*command, *given], env=os.environ | named))
    assert [machine.wait(timeout=300) for machine in machines] == [0, 0]
    record = json.loads((tmp_path / "out" / "training.json").read_text())
    assert record["processes"] == 2
    assert record["steps_done"] == 3


SHARED = """
import sys
import torch
torch.set_num_threads(1)
import zoo
zoo.train("vit-micro", "digits", out=f"{sys.argv[1]}/{sys.argv[2]}", steps=4, validations=2, batch_size=8, accumulate=2,
          workers=int(sys.argv[2]), precision="32-true", accelerator="cpu", devices=2, strategy="ddp", dim=16, depth=1,
          num_heads=2, mlp_dim=16, dropout=0.2)
"""


def test_two_processes_with_workers_read_as_without(tmp_path: Path) -> None:
    for workers in ("0", "2"):
        launch(tmp_path, SHARED, workers)
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in "02"]
    assert files[0] == files[1]
