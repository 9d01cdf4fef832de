from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import zoo
from zoo import ConfigError, DataError
from zoo.data import open_corpus
from zoo.plugins.caption.data import open_captions as module
from zoo.plugins.caption.data.corpus import UNSEEN, CaptionCorpus

SPEC = zoo.info("caption-rnn-tiny")


def pictures(folder: Path, count: int) -> list[str]:
    folder.mkdir(exist_ok=True)
    for at in range(count):
        Image.fromarray(np.random.default_rng(at).integers(0, 255, (30, 40, 3), np.uint8)).save(folder / f"{at}.png")
    return [f"{at}.png" for at in range(count)]


def opened(text: str) -> CaptionCorpus:
    corpus = open_corpus(text, SPEC)
    assert isinstance(corpus, CaptionCorpus)
    return corpus


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "SIZES", {"train": 40, "validation": 5, "test": 6, UNSEEN: 7})
    module._drawn.cache_clear()
    yield
    module._drawn.cache_clear()


@pytest.mark.usefixtures("few")
def test_drawn_scenes_come_in_four_parts_with_a_vocabulary_of_their_words() -> None:
    corpus = opened("captions")
    assert corpus.sizes == {"train": 40, "validation": 5, "test": 6, UNSEEN: 7}
    assert corpus.metric == "exact match"
    assert set(corpus.parts["train"][0].texts[0].split()) <= set(corpus.tokenizer.backend.get_vocab())


@pytest.mark.usefixtures("few")
def test_another_seed_draws_other_scenes() -> None:
    one, other = (open_corpus("captions", SPEC, seed) for seed in (0, 1))
    assert one.fingerprint != other.fingerprint


def test_absent_pictures_are_named_and_counted_and_the_others_read(tmp_path: Path) -> None:
    names = pictures(tmp_path / "pictures", 12)
    lines = [f"{name}\ta picture {name}" for name in names] + ["gone.png\tnot there", "0.png\tanother"]
    (tmp_path / "mine.tsv").write_text("\n".join(lines))
    corpus = opened(f"captions:{tmp_path / 'mine.tsv'}?images={tmp_path / 'pictures'}")
    (note,) = corpus.notes
    assert note.startswith("1 of 13 pictures are skipped:")
    assert "gone.png: there is no such file in" in note
    assert sum(corpus.sizes[part] for part in ("validation", "test")) == 2
    batch = next(corpus.held_out("test", 2))
    assert batch.inputs[0].shape == (1, 3, 20, 20)
    assert corpus.reads_files


def test_captions_of_a_picture_stay_in_one_part_and_each_is_trained_on(tmp_path: Path) -> None:
    names = pictures(tmp_path, 10)
    (tmp_path / "x.token").write_text("\n".join(f"{name}#{at}\ttext {at} of it" for name in names for at in range(3)))
    corpus = opened(f"captions:{tmp_path / 'x.token'}")
    assert corpus.sizes == {"train": 24, "validation": 1, "test": 1}
    assert len(corpus.parts["test"][0].texts) == 3


def test_captions_of_pictures_that_the_file_does_not_list_are_counted(tmp_path: Path) -> None:
    names = pictures(tmp_path, 5)
    images = ", ".join(f'{{"id": {at}, "file_name": "{name}"}}' for at, name in enumerate(names))
    said = ", ".join(f'{{"image_id": {at}, "caption": "text {at}"}}' for at in range(6))
    (tmp_path / "coco.json").write_text(f'{{"images": [{images}], "annotations": [{said}]}}')
    (note,) = opened(f"captions:{tmp_path / 'coco.json'}").notes
    assert "1 of 6 pictures are skipped" in note
    assert "image_id 5" in note


def test_an_empty_caption_is_counted(tmp_path: Path) -> None:
    names = pictures(tmp_path, 5)
    (tmp_path / "x.tsv").write_text("\n".join(f"{name}\t{'' if at == 2 else 'text'}" for at, name in enumerate(names)))
    (note,) = opened(f"captions:{tmp_path / 'x.tsv'}").notes
    assert "2.png" in note
    assert "an empty caption" in note


def test_where_no_picture_is_there_the_error_says_how_to_name_their_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text("a.png\ta\nb.png\tb\n")
    with pytest.raises(DataError, match=r"of 2 pictures none can be used, such as a.png: .*\?images=FOLDER"):
        opened(f"captions:{tmp_path / 'mine.tsv'}")
    with pytest.raises(DataError, match="there is no folder '/none'"):
        opened(f"captions:{tmp_path / 'mine.tsv'}?images=/none")


def test_a_model_that_writes_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'vit-micro' writes none"):
        module.open_captions("", zoo.info("vit-micro"), 0, "")


@pytest.mark.usefixtures("few")
def test_pictures_are_prepared_as_those_that_the_model_is_given_later() -> None:
    corpus = opened("captions")
    raw = corpus.parts["test"][0].picture
    images, _ = corpus.pictures["test"].read([0])
    assert (images[0] == zoo.preprocess("caption-rnn-tiny")(raw)).all()
    grey = open_corpus("captions", replace(SPEC.with_config(in_chans=1, image_size=12)))
    assert next(grey.held_out("test", 2)).inputs[0].shape[1:] == (1, 12, 12)
