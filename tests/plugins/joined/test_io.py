"""Texts of joined models: two folders with a tokenizer each, from training to the hub and back."""

from pathlib import Path
from typing import Any

import pytest

import zoo
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.text.data.parallel_corpus import OWN
from zoo.training.initial_model import InitialModel

TINY: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
pytestmark = pytest.mark.usefixtures("one_thread")


def part(name: str, kind: str, texts: list[str], where: Path, **options: Any) -> str:
    """Save a model and the tokenizer that it was trained with."""
    tokenizer = choose_tokenizer(kind, kind, texts)
    zoo.weights.save(zoo.create(name, vocab_size=tokenizer.vocab_size, **TINY, **options), where)
    tokenizer.save(where / "tokenizer.json")
    return f"local-dir:{where}"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Give pairs whose two sides share no character."""
    digits = [f"{number}" for number in range(100, 140)]
    rows = [f"{text}\t{text.translate(str.maketrans('0123456789', 'abcdefghij'))}" for text in digits]
    (tmp_path / "pairs.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path / "pairs.tsv"


@pytest.fixture
def name(tmp_path: Path) -> str:
    encoder = part("bert-micro", "char", ["0123456789"], tmp_path / "reader", max_len=16)
    decoder = part("decoder-tiny", "word", ["abcdefghij", "bcd"], tmp_path / "writer")
    return f"joined:{encoder}+{decoder}"


def test_each_side_is_read_by_the_tokenizer_of_its_folder_and_the_record_keeps_both(
    data: Path, name: str, tmp_path: Path
) -> None:
    first, second = (zoo.info(f"local-dir:{tmp_path / each}").config["vocab_size"] for each in ("reader", "writer"))
    assert first != second
    zoo.train(name, f"parallel:{data}", out=tmp_path / "run", steps=2, batch_size=4)
    run = f"local-dir:{tmp_path / 'run'}"
    config = zoo.info(run).config
    assert (config["source_vocab_size"], config["vocab_size"]) == (first, second)
    assert (tmp_path / "run" / OWN).is_file()
    for each in ("reader", "writer"):  # the run stands alone
        (tmp_path / each / "tokenizer.json").unlink()
    model: Any = zoo.create(run)
    read: Any = zoo.preprocess(run)
    written: Any = zoo.postprocess(run)
    assert read.tokenizer.names(read(["105"])[0][0].tolist()) == ["<s>", "1", "0", "5", "</s>"]
    assert written.tokenizer.vocab_size == second
    ids = model.generate(*read(["105", "1"]), max_len=4)
    assert all(set(text) <= set("abcdefghij ") for text in written(ids))
    report = zoo.evaluate(tmp_path / "run", f"parallel:{data}", samples=20)
    assert report is not None


def test_folders_of_the_parts_say_the_tokenizer_and_the_settings_of_a_training(name: str, tmp_path: Path) -> None:
    initial = InitialModel(name, None, None, {})
    assert initial.tuned
    assert initial.tokenizer == str(tmp_path / "writer" / "tokenizer.json")
    assert initial.spec.config["source_tokenizer"] == f"local-dir:{tmp_path / 'reader'}"
    assert not InitialModel("joined:bert-micro+decoder-tiny", None, None, {}).tuned


def test_a_tokenizer_of_the_sources_may_be_learned_from_them(data: Path, tmp_path: Path) -> None:
    given: dict[str, Any] = {"encoder.dim": 16, "encoder.depth": 1, "decoder.dim": 16, "decoder.depth": 1}
    options: dict[str, Any] = {"steps": 1, "batch_size": 4, "tokenizer": "byte"}
    name = "joined:bert-micro+decoder-tiny"
    zoo.train(name, f"parallel:{data}", out=tmp_path / "run", source_tokenizer="char", **options, **given)
    char = choose_tokenizer("char", "char", ["0123456789"])
    config = zoo.info(f"local-dir:{tmp_path / 'run'}").config
    assert (config["source_vocab_size"], config["vocab_size"]) == (char.vocab_size, 260)


def test_a_joined_model_of_bytes_that_was_saved_alone_reads_and_writes(tmp_path: Path) -> None:
    config: dict[str, Any] = {"depth": 1, "decoder.depth": 1}
    model: Any = zoo.create("joined:bert-micro+decoder-tiny", **config).eval()
    name = f"local-dir:{zoo.weights.save(model, tmp_path)}"
    assert not (tmp_path / "tokenizer.json").exists()
    again: Any = zoo.create(name).eval()
    read, said = zoo.preprocess(name), zoo.postprocess(name)
    assert read("ab")[0].tolist() == [[1, 101, 102, 2]]
    assert said([[101, 102, 2]]) == ["ab"]
    assert said(again.generate(*read("ab"), max_len=3)) == said(model.generate(*read("ab"), max_len=3))


def test_a_folder_without_a_tokenizer_is_named(data: Path, name: str, tmp_path: Path) -> None:
    (tmp_path / "reader" / "tokenizer.json").unlink()
    with pytest.raises(zoo.WeightsError, match=r"reader', whose encoder reads the sources, has no tokenizer\.json"):
        zoo.train(name, f"parallel:{data}", steps=1)
