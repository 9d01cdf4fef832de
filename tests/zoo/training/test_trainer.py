import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

import zoo
from zoo.core.ops import products
from zoo.data.corpus import Batch
from zoo.errors import ConfigError, DataError, FolderInUseError, MissingLibraryError, WeightsError
from zoo.training.config import Devices
from zoo.training.distributed.devices import launch
from zoo.training.resume.train_state import Outcome
from zoo.training.trainer import Trained, Trainer

Train = Callable[..., Trained]


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def train(quadrants: Any, tiny: dict[str, Any]) -> Train:
    """Train a very small model with dropout, so that random numbers count."""

    def run(out: Path | None = None, data: Any = None, **options: Any) -> Trained:
        settings: dict[str, Any] = {
            "steps": 12,
            "batch_size": 8,
            "validations": 4,
            "dropout": 0.2,
            "precision": "32-true",
        }
        return zoo.train("vit-micro", data or quadrants, out=out, **(settings | tiny | options))

    return run


def weights(trained: Trained) -> dict[str, Tensor]:
    return {key: value.clone() for key, value in trained.model.state_dict().items()}


def same(one: Trained, other: Trained) -> bool:
    a, b = weights(one), weights(other)
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


def told(outcome: Outcome) -> list[Any]:
    return [tuple(entry) for entry in outcome.history]


class Stops:
    """Be a corpus that is interrupted while it makes a batch."""

    def __init__(self, corpus: Any, at: int, signals: int = 1) -> None:
        self.corpus, self.at, self.signals, self.count = corpus, at, signals, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.corpus, name)

    def batch(self, index: Tensor, generator: torch.Generator) -> Batch:
        self.count += 1
        if self.count == self.at:
            for _ in range(self.signals):
                signal.raise_signal(signal.SIGINT)
        batch: Batch = self.corpus.batch(index, generator)
        return batch


def test_a_model_learns_and_is_judged_on_the_test(train: Train, device: torch.device) -> None:
    trained = train(steps=80, dropout=0.0, accelerator=device.type)
    assert trained.scores["accuracy"] == 1.0
    assert not trained.model.training
    assert trained.folder is None


@pytest.mark.usefixtures("losses_drawn")
def test_the_folder_is_a_checkpoint_of_the_best_model(train: Train, quadrants: Any, tmp_path: Path) -> None:
    trained = train(tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"model.safetensors", "config.json", "labels.json", "training.json", "losses.png", "state"}
    again = zoo.create(f"local-dir:{tmp_path / 'out'}", pretrained=True).eval()
    ((pictures,), _) = next(quadrants.held_out("test", 16))
    assert torch.equal(again(pictures), trained.model(pictures))
    record = json.loads((tmp_path / "out" / "training.json").read_text())
    assert record["test"] == trained.scores
    assert [entry["step"] for entry in record["history"]] == [3, 6, 9, 12]
    assert record["settings"]["learning_rate"] == 3e-3
    assert record["ended"] == "all steps"


def test_the_same_seed_gives_the_same_weights_and_another_does_not(train: Train) -> None:
    assert same(train(), train())
    assert not same(train(), train(seed=1))


@pytest.mark.parametrize("at", [2, 6, 11])
@pytest.mark.parametrize("options", [{}, {"optimizer": "adamw", "accumulate": 2, "schedule": "cosine"}])
def test_a_training_that_was_stopped_goes_on_as_if_it_had_not(
    train: Train, quadrants: Any, tmp_path: Path, at: int, options: dict[str, Any]
) -> None:
    whole = train(**options)
    stopped = train(tmp_path / "out", Stops(quadrants, at), **options)
    assert stopped.outcome.ended == "asked to"
    assert stopped.scores == {}
    resumed = train(tmp_path / "out", resume=True, **options)
    assert same(whole, resumed)
    assert told(resumed.outcome) == told(whole.outcome)
    assert resumed.scores == whole.scores


def test_the_curve_of_the_loss_goes_on_too(
    train: Train, quadrants: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.training.callbacks.loss_curve.POINTS", 4)
    train(tmp_path / "whole")
    train(tmp_path / "out", Stops(quadrants, 5))  # within a stretch of 3 steps
    train(tmp_path / "out", resume=True)
    losses = [json.loads((tmp_path / name / "training.json").read_text())["losses"] for name in ("whole", "out")]
    assert losses[0] == losses[1]
    assert [step for step, _ in losses[0]] == [3, 6, 9, 12]


@pytest.mark.parametrize("options", [{}, {"patience": 1}, {"precision": "bf16-true"}])
def test_a_finished_training_gives_its_stored_result_without_work(
    train: Train, quadrants: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    calls = count(1)
    if "patience" in options:  # scores that fall on every processor
        monkeypatch.setattr("tests.zoo.training.conftest.Quadrants.score", lambda *_: {"accuracy": 1 / next(calls)})
    whole = train(tmp_path / "out", **options)
    files = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    for work in ("zoo.training.trainer.fit", "tests.zoo.training.conftest.Quadrants.score"):
        monkeypatch.setattr(work, lambda *_, **__: pytest.fail("nothing is left to do"))
    again = train(tmp_path / "out", resume=True, **options)
    assert again.was_finished
    assert not whole.was_finished
    assert same(whole, again)
    assert told(again.outcome) == told(whole.outcome)
    assert again.outcome.ended == whole.outcome.ended == ("patience" if "patience" in options else "all steps")
    assert again.scores == whole.scores
    assert files == {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}


def test_a_finished_training_without_its_model_tests_again_and_saves_it(train: Train, tmp_path: Path) -> None:
    whole = train(tmp_path / "out")
    (tmp_path / "out" / "model.safetensors").unlink()
    again = train(tmp_path / "out", resume=True)
    assert same(whole, again)
    assert not again.was_finished
    assert (tmp_path / "out" / "model.safetensors").exists()


def test_resume_without_a_checkpoint_begins(train: Train, tmp_path: Path) -> None:
    assert same(train(tmp_path / "out", resume=True), train())


def test_a_second_signal_ends_at_once(train: Train, quadrants: Any, tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "out", Stops(quadrants, 5, signals=2))
    assert signal.getsignal(signal.SIGINT) is before
    assert same(train(tmp_path / "out", resume=True), train())  # from the validation before


def test_another_training_is_not_gone_on_with(train: Train, quadrants: Any, tmp_path: Path) -> None:
    train(tmp_path / "out", Stops(quadrants, 5))
    with pytest.raises(ConfigError, match=r"was another.*\n  learning_rate: 0.003 before, 0.01 now"):
        train(tmp_path / "out", resume=True, learning_rate=0.01)
    with pytest.raises(
        ConfigError, match=r"steps: 12 before, 13 now\nThe learning rate follows .* begin from weights="
    ):
        train(tmp_path / "out", resume=True, steps=13)


def test_a_training_that_goes_on_with_other_threads_tells_so(train: Train, quadrants: Any, tmp_path: Path) -> None:
    train(tmp_path / "out", Stops(quadrants, 5))
    torch.set_num_threads(2)
    with pytest.warns(UserWarning, match=r"had threads=1 and goes on with threads=2: .* OMP_NUM_THREADS=1 gives the"):
        train(tmp_path / "out", resume=True)


def test_a_training_that_goes_on_with_products_by_another_library_tells_so(
    train: Train, quadrants: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "chosen", lambda: "mkl")
    train(tmp_path / "out", Stops(quadrants, 5))
    monkeypatch.setattr(products, "chosen", lambda: "onednn")
    said = r"had products=mkl and goes on with products=onednn: .* ZOO_PRODUCTS=mkl gives the same"
    with pytest.warns(UserWarning, match=said):
        train(tmp_path / "out", resume=True)


def test_a_training_that_goes_on_on_a_gpu_has_no_rule_of_products(
    train: Train, quadrants: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "chosen", lambda: "mkl")
    train(tmp_path / "out", Stops(quadrants, 5))
    facts = Trainer._facts

    def on_gpu(self: Any, *more: Any) -> dict[str, Any]:
        there = SimpleNamespace(device=torch.device("cuda"), world_size=1)
        here = SimpleNamespace(initial=self.initial, fabric=there, command=self.command, extensions=self.extensions)
        return facts(here, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Trainer, "_facts", on_gpu)
    monkeypatch.setattr(products, "chosen", lambda: "onednn")
    train(tmp_path / "out", resume=True)  # warnings are errors


def test_a_training_goes_on_from_its_weights_for_more_steps_in_another_folder(train: Train, tmp_path: Path) -> None:
    learned = train(tmp_path / "out", steps=60, dropout=0.0)
    further = train(tmp_path / "more", weights=str(tmp_path / "out"), steps=1, learning_rate=1e-9)
    assert further.settings.schedule == "cosine"
    for key, value in weights(learned).items():
        torch.testing.assert_close(weights(further)[key], value, atol=1e-5, rtol=0)


def test_a_folder_that_cannot_be_written_is_refused(
    train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    for out in ("file", "link"):
        with pytest.raises(DataError, match=f"out='{tmp_path}/{out}' is no folder"):
            train(tmp_path / out)
    with pytest.raises(DataError, match=f"out='{tmp_path}/file/out': '{tmp_path}/file' is no folder"):
        train(tmp_path / "file" / "out")
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path)  # root may write everywhere
    with pytest.raises(DataError, match=f"out='{tmp_path}/a/b': nothing can be written in '{tmp_path}', see its perm"):
        train(tmp_path / "a" / "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_a_disk_that_is_full_is_named(train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("zoo.training.callbacks.save_run.write_text", full)
    with pytest.raises(WeightsError, match=r"out='.*out' cannot be written: .*No space left"):
        train(tmp_path / "out")


def test_a_folder_that_holds_something_is_refused(train: Train, quadrants: Any, tmp_path: Path) -> None:
    train(tmp_path / "out", Stops(quadrants, 2))
    with pytest.raises(ConfigError, match=r"out='.*out' holds a training: --resume continues .* --overwrite removes"):
        train(tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    train(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "thesis.tex").write_text("mine")
    with pytest.raises(ConfigError, match="holds files, but no training"):
        train(tmp_path / "else")
    with pytest.raises(ConfigError, match="give one of them"):
        train(tmp_path / "out", resume=True, overwrite=True)
    with pytest.raises(ConfigError, match="resume=True without out="):
        train(resume=True)


def test_accumulated_batches_are_as_good_as_large_ones(train: Train, quadrants: Any) -> None:
    quadrants.batch = lambda index, generator: quadrants._made(index)  # noise would be drawn batch by batch
    exact: dict[str, Any] = {"dropout": 0.0, "validations": 1, "optimizer": "adam", "precision": "64-true"}
    large = weights(train(batch_size=8, steps=5, dtype="float64", **exact))
    small = weights(train(batch_size=4, accumulate=2, steps=5, dtype="float64", **exact))
    for key, value in large.items():
        torch.testing.assert_close(small[key], value, atol=1e-9, rtol=0)


def test_overwriting_removes_nothing_that_no_training_wrote(train: Train, tmp_path: Path) -> None:
    weights = tmp_path / "mine" / "model.safetensors"
    weights.parent.mkdir()
    weights.write_bytes(b"months of work")
    for wish in ({"overwrite": True}, {"resume": True}):
        with pytest.raises(ConfigError, match="holds files, but no training"):
            train(weights.parent, **wish)
    (weights.parent / "training.json").write_text('{"epochs": 3}')  # a name that others use too
    with pytest.raises(ConfigError, match="holds files, but no training"):
        train(weights.parent, overwrite=True)
    assert weights.read_bytes() == b"months of work"
    assert len(list(weights.parent.iterdir())) == 2


def test_what_a_killed_training_left_half_written_is_no_hindrance(train: Train, tmp_path: Path) -> None:
    (tmp_path / ".writing-abc").write_text("{")
    (tmp_path / ".lock").touch()
    assert train(tmp_path, steps=1, validations=1).outcome.steps == 1


def test_a_folder_in_which_another_trains_is_refused(train: Train, quadrants: Any, tmp_path: Path) -> None:
    told = []

    class Meanwhile(Stops):
        def batch(self, index: Tensor, generator: torch.Generator) -> Batch:
            for wish in ({}, {"resume": True}, {"overwrite": True}):
                with pytest.raises(FolderInUseError) as error:
                    train(tmp_path / "out", **wish)
                told.append(str(error.value))
            return super().batch(index, generator)

    whole = train(tmp_path / "out", Meanwhile(quadrants, 0), steps=1, validations=1)
    assert len(told) == 3
    assert told[0].startswith(f"out='{tmp_path / 'out'}' is in use by process {os.getpid()} on host ")
    assert not [path.name for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]
    assert same(whole, train(tmp_path / "out", steps=1, validations=1, resume=True))


def test_a_training_that_cannot_begin_leaves_no_folder(train: Train, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        train(tmp_path / "deep" / "out", no_such_keyword=1)
    assert not list(tmp_path.iterdir())


def test_a_training_that_cannot_begin_removes_nothing(train: Train, quadrants: Any, tmp_path: Path) -> None:
    train(tmp_path / "out", Stops(quadrants, 2))
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    with pytest.raises(ConfigError):
        train(tmp_path / "out", overwrite=True, no_such_keyword=1)
    with pytest.raises(ConfigError, match=r"lies in out=.*which is written over"):
        train(tmp_path / "out", overwrite=True, weights=str(tmp_path / "out"))
    assert before == {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}


def test_a_vocabulary_is_whole_or_not_there(train: Train, quadrants: Any, tmp_path: Path) -> None:
    def cut(folder: Path) -> None:
        (folder / "labels.json").write_text('["n')
        raise KeyboardInterrupt

    quadrants.save = cut
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["training.json"]
    del quadrants.save
    assert same(train(tmp_path / "out", resume=True), train())


def test_a_metric_that_the_user_chooses_chooses_the_checkpoint(
    train: Train, quadrants: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = iter([0.5, 0.9, 0.7, 0.6, 0.5])
    quadrants.score = lambda model, split, batch_size: {"accuracy": 0.25, "speed": next(scores), "loss": 1.0}
    trained = train(tmp_path / "out", metric="speed", progress=True)
    assert (trained.outcome.best_step, trained.outcome.best_by) == (6, "by speed 0.9000")
    told = r"step +6  training loss [\d.]+  validation speed 0\.9000  loss 1\.0000  accuracy 0\.2500  best so far"
    assert re.fullmatch(told, capsys.readouterr().out.splitlines()[1])
    record = json.loads((tmp_path / "out" / "training.json").read_text())
    assert (record["settings"]["metric"], record["best_by"]) == ("speed", "by speed 0.9000")
    with pytest.raises(ConfigError, match="metric: 'speed' before, 'loss' now"):
        train(tmp_path / "out", metric="loss", resume=True)


def test_a_metric_that_the_data_do_not_have_is_an_error_before_the_training(train: Train, quadrants: Any) -> None:
    with pytest.raises(ConfigError, match="metric='spede' is none of the scores of these data: accuracy, loss"):
        train(metric="spede")  # told after the first validation
    quadrants.metrics = lambda model: ("accuracy", "loss")
    watched = Stops(quadrants, 0)
    with pytest.raises(ConfigError, match="metric='spede' is none of the scores of these data: accuracy, loss"):
        train(data=watched, metric="spede")
    assert watched.count == 0


def test_a_training_of_a_version_without_metric_goes_on(train: Train, quadrants: Any, tmp_path: Path) -> None:
    whole = train(tmp_path / "whole")
    train(tmp_path / "out", Stops(quadrants, 6))
    path = tmp_path / "out" / "training.json"
    record = json.loads(path.read_text())
    del record["settings"]["metric"], record["best_by"]
    path.write_text(json.dumps(record))
    assert same(whole, train(tmp_path / "out", resume=True))


def test_going_on_takes_the_precision_of_the_beginning(
    train: Train, quadrants: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.training.optimization.precision.profitable_precision", lambda device: "32-true")
    train(tmp_path / "out", Stops(quadrants, 2), precision="auto")
    monkeypatch.setattr("zoo.training.optimization.precision.profitable_precision", lambda device: "bf16-mixed")
    assert train(tmp_path / "out", precision="auto", resume=True).settings.precision == "32-true"


def test_a_training_leaves_the_process_as_it_was(train: Train, tmp_path: Path) -> None:
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    torch.set_flush_denormal(False)
    logger = logging.getLogger("lightning_fabric")
    level = logger.level
    train(tmp_path / "out", steps=1, validations=1)
    assert torch.equal(torch.rand(2), wanted)
    assert float(torch.tensor([1e-39]) * torch.tensor([0.5])) > 0
    assert logger.level == level
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert len(modes) == 1  # as the umask says


def test_data_that_are_none_are_named(train: Train) -> None:
    with pytest.raises(ConfigError, match="train=5 is no data: give a list of pairs"):
        train(data=5)


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_model_in_place_of_its_name_is_told_how_it_is_trained_on(quadrants: Any) -> None:
    told = "name=VisionTransformer: zoo.train makes the model by its name; zoo.train('vit-micro', ..., weights=model"
    model: Any = zoo.create("vit-micro")
    with pytest.raises(ConfigError, match=re.escape(told)):
        zoo.train(model, quadrants)
    with pytest.raises(ConfigError, match="name=3: a string is wanted, such as name='3'"):
        zoo.train(3, quadrants)  # type: ignore[arg-type]


def test_data_that_ask_for_another_task_are_refused(train: Train, quadrants: Any) -> None:
    quadrants.task = "generate"
    with pytest.raises(ConfigError, match="have task 'generate', and the tasks of 'vit-micro' are classify"):
        train()


def test_aids_for_models_that_write_are_refused_for_others(train: Train) -> None:
    with pytest.raises(ConfigError, match="scheduled_sampling is for models that write"):
        train(scheduled_sampling=0.5)


def test_an_unknown_keyword_is_named(train: Train) -> None:
    for given, meant in (("stepz", "steps"), ("lr", "learning_rate"), ("output_dir", "out")):
        told = rf"Model 'vit-micro' has no keyword '{given}'\..* Nor has zoo.train\. Did you mean '{meant}'"
        with pytest.raises(ConfigError, match=told):
            train(**{given: 5})


def test_a_missing_library_is_named_with_its_installation(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.registry.entry_loading._installed", lambda module: module != "lightning_fabric")
    with pytest.raises(
        MissingLibraryError, match=r"'zoo train' needs lightning-fabric: pip install .attention-zoo\[train"
    ):
        train()


KILLED: dict[str, Any] = {
    "steps": 30, "validations": 30, "resume": True, "precision": "32-true", "batch_size": 4, "dim": 16, "depth": 1,
    "num_heads": 2, "mlp_dim": 16, "dropout": 0.2,
}  # fmt: skip
SCRIPT = f"""
import sys, torch
torch.set_num_threads(1)
import zoo
zoo.train("vit-micro", "digits", out=sys.argv[1], **{KILLED})
"""


@pytest.mark.slow
def test_killed_again_and_again_the_weights_are_those_of_an_uninterrupted_training(tmp_path: Path) -> None:
    """Each step writes a checkpoint, so that most kills fall into a write."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    kills = 0
    for delay in (0.0, 0.3, None):
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path / "killed")], env=environment)
        if delay is not None:
            state = tmp_path / "killed" / "state"
            before = set(state.glob("step-*"))
            while process.poll() is None and set(state.glob("step-*")) == before:
                time.sleep(0.01)
            time.sleep(delay)
            if process.poll() is None:
                process.kill()
                kills += 1
        process.wait()
    assert process.returncode == 0
    assert kills >= 1
    zoo.train("vit-micro", "digits", out=tmp_path / "whole", **KILLED)
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("killed", "whole")]
    assert files[0] == files[1]
    histories = [json.loads((tmp_path / name / "training.json").read_text())["history"] for name in ("killed", "whole")]
    assert histories[0] == histories[1]


DISTRIBUTED = """
import sys, torch
torch.set_num_threads(1)
import zoo
from zoo.data.corpus import Batch, open_corpus

class Plain:  # without augmentation, which is drawn batch by batch; some places are not asked
    def __init__(self, corpus):
        self.corpus = corpus
    def __getattr__(self, name):
        return getattr(self.corpus, name)
    def batch(self, index, generator):
        part = self.corpus.train
        target = part.labels[index].masked_fill(index % 3 == 0, -100)
        return Batch((self.corpus.source.prepare(part.inputs[index]),), target)

data = Plain(open_corpus("digits", zoo.info("vit-micro")))
devices = int(sys.argv[2])
zoo.train("vit-micro", data, out=sys.argv[1], steps=6, validations=2, batch_size=16 // devices, optimizer="adam",
          precision="64-true", accelerator="cpu", devices=devices, strategy="ddp" if devices > 1 else "auto",
          dim=16, depth=1, num_heads=2, mlp_dim=16)
"""


@pytest.mark.slow
def test_two_processes_train_as_one_does_on_their_joined_batches(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(DISTRIBUTED)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    for name, devices in (("one", "1"), ("two", "2")):
        subprocess.run(
            [sys.executable, str(script), str(tmp_path / name), devices], env=environment, check=True, timeout=400
        )
    one, two = (zoo.create(f"local-dir:{tmp_path / name}", pretrained=True) for name in ("one", "two"))
    record = json.loads((tmp_path / "two" / "training.json").read_text())
    assert record["processes"] == 2
    for key, value in one.state_dict().items():
        torch.testing.assert_close(two.state_dict()[key], value, atol=1e-6, rtol=0)


def test_devices_that_are_not_there_are_an_error() -> None:
    with pytest.raises(ConfigError, match="devices=0, strategy='auto', num_nodes=1, accelerator='cpu'"):
        launch(Devices(devices=0, accelerator="cpu"), "32-true")
