"""`Pipeline`: from raw inputs to answers."""

import pickle
import re
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

import zoo
from zoo.core import is_quantized
from zoo.errors import ConfigError, InputError, WeightsError
from zoo.pipeline import Pipeline

SIZE: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}


@pytest.fixture
def labeller(tmp_path: Path) -> str:
    """Save a small classifier of images, and an image."""
    zoo.weights.save(zoo.create("vit-micro", num_classes=2, **SIZE), tmp_path)
    Image.linear_gradient("L").save(tmp_path / "a.png")
    (tmp_path / "labels.json").write_text('["cat", "dog"]')
    return str(tmp_path)


def test_files_are_labelled(labeller: str) -> None:
    ((file, answer),) = Pipeline(labeller).predict([f"{labeller}/a.png"])
    assert file == f"{labeller}/a.png"
    assert set(answer) == {"cat", "dog"}
    assert sum(answer.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("device", "text"),
    [
        ("gpu", "device='gpu' is no device: write cpu, cuda"),
        ("cuda:99", "cuda:99"),
        ("ipu", "'ipu' is not on this machine"),
    ],
)
def test_a_device_that_is_none_is_refused_before_anything_is_read(labeller: str, device: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Pipeline(labeller, device)


def test_int8_weights_label_alike_and_an_int8_folder_needs_no_wish(labeller: str, tmp_path: Path) -> None:
    file = f"{labeller}/a.png"
    ((_, wanted),) = Pipeline(labeller).predict([file])
    pipeline = Pipeline(labeller, int8=True)
    ((_, found),) = pipeline.predict([file])
    assert is_quantized(pipeline.model)
    assert found == pytest.approx(wanted, abs=0.05)
    folder = zoo.weights.save(pipeline.model, tmp_path / "int8")
    for int8 in (False, True):
        assert is_quantized(Pipeline(str(folder), int8=int8).model)


def test_a_model_may_be_given(labeller: str) -> None:
    model = Pipeline(labeller).model
    assert Pipeline(labeller, model=model).model is model


def test_a_model_of_another_task_is_refused_before_it_is_loaded(labeller: str) -> None:
    pipeline = Pipeline(labeller)
    with pytest.raises(ConfigError, match="which does not generate: use zoo predict"):
        next(pipeline.generate(["a text"]))
    with pytest.raises(ConfigError, match="without labels: use zoo generate"):
        Pipeline("transformer-tiny").predict(["a text"])
    assert "model" not in vars(pipeline)


def test_files_that_cannot_be_read_are_skipped_if_wished(tmp_path: Path) -> None:
    pipeline = Pipeline("vit-micro", model=zoo.create("vit-micro", num_classes=2, **SIZE))
    gone, skipped = [str(tmp_path / name) for name in ("a.png", "b.png")], []
    assert list(pipeline.predict(gone, lambda name, error: skipped.append(name))) == []
    assert skipped == gone
    with pytest.raises(InputError, match="an input cannot be read"):
        list(pipeline.predict(gone))
    with pytest.raises(InputError, match=rf"^'{tmp_path}' is a folder: give the files in it, such as {tmp_path}/\*$"):
        list(pipeline.predict([str(tmp_path)]))


def test_a_model_without_weights_is_to_be_trained() -> None:
    told = "No pretrained weights exist for vit-micro: train it, and give the folder that zoo train --out wrote"
    with pytest.raises(WeightsError, match=f"^{told}$"):
        _ = Pipeline("vit-micro").model


def test_a_joined_model_whose_parts_have_no_weights_is_to_be_trained() -> None:
    name = "joined:vit-micro+decoder-tiny"
    told = re.escape(f", a part of {name}: train it, and give the folder that zoo train --out wrote")
    with pytest.raises(WeightsError, match=f"^No pretrained weights exist for (vit-micro|decoder-tiny){told}$"):
        _ = Pipeline(name).model


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Write pictures, of which the 40th is none."""
    paths = [tmp_path / f"{number}.png" for number in range(70)]
    for number, path in enumerate(paths):
        Image.linear_gradient("L").rotate(5 * number).save(path)
    paths[40].write_bytes(b"no picture")
    return [str(path) for path in paths]


def test_workers_read_files_and_the_answers_stay_in_order(labeller: str, files: list[str]) -> None:
    skipped: list[str] = []
    answers = [
        list(Pipeline(labeller, workers=workers).predict(files, lambda name, error: skipped.append(name)))
        for workers in (0, 2)
    ]
    assert answers[0] == answers[1]
    assert [file for file, _ in answers[0]] == files[:40] + files[41:]
    assert skipped == [files[40]] * 2
    with pytest.raises(InputError, match="cannot be read"):
        list(Pipeline(labeller, workers=2).predict(files))


def test_several_files_have_workers_by_default(
    labeller: str, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.data.batches.workers.default_workers", lambda shared: 3)
    pipeline = Pipeline(labeller)
    assert pipeline._workers_for([files[:32], files[32:64]]) == 3
    assert pipeline._workers_for([files[:32]]) == 0
    assert pipeline._workers_for([["CCO"], ["c1ccccc1"]]) == 0


def test_inputs_are_taken_as_they_are_answered(labeller: str, files: list[str]) -> None:
    taken: list[str] = []

    def endless() -> Iterator[str]:
        for file in cycle(files[:40]):
            taken.append(file)
            yield file

    answers = Pipeline(labeller, workers=0).predict(endless())
    assert [file for file, _ in islice(answers, 100)] == taken[:100]
    assert len(taken) <= 6 * 32


def test_what_prepares_inputs_is_pickled_for_workers_that_are_spawned(files: list[str]) -> None:
    for name, raw in (("vit-micro", files[:2]), ("transformer-tiny", ["a text"]), ("graph-tiny", ["CCO"])):
        inputs = Pipeline(name).inputs(raw)
        pickled = pickle.loads(pickle.dumps(Pipeline(name).preprocess))(raw)
        for one, other in zip(inputs, pickled if isinstance(pickled, tuple) else (pickled,), strict=True):
            assert one is other is None or torch.equal(one, other)


def test_a_target_text_is_scored_with_its_end_behind_a_source_and_without_behind_a_prompt(writer: str) -> None:
    pipeline = Pipeline(writer)
    inputs = pipeline.inputs(["abc"])
    ids = pipeline.postprocess.tokenizer.rows(["xyz"])[0]
    (score,) = pipeline.scores(["abc"], ["xyz"])
    wanted = pipeline.model.target_scores(*inputs, target=[[*ids, pipeline.model.symbols.eos]])
    assert score == pytest.approx(float(wanted.scores))
    found: list[Any] = list(pipeline.scored(["abc", "abc"], "xyz"))
    assert found == [("abc", pytest.approx(score))] * 2
    prompted = Pipeline("decoder-tiny", model=zoo.create("decoder-tiny", depth=1).eval())
    parts = prompted.scores(["ab", "abc"], ["cd", "d"])
    (whole,) = prompted.scores(["ab"], ["c"])
    assert parts[0] == pytest.approx(whole + parts[1], rel=1e-5)
    with pytest.raises(InputError, match="1 targets for 2 inputs: give one for each"):
        prompted.scores(["a", "b"], ["c"])
    pipeline = Pipeline("speech-tiny", model=zoo.create("speech-tiny", task="features"))
    with pytest.raises(ConfigError, match="does not generate"):
        pipeline.scores(["a"], ["b"])
