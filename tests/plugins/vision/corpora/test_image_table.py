import io
import json
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import zoo
from zoo import ConfigError, DataError
from zoo.core import IGNORED
from zoo.data.corpus import Corpus, open_corpus

SPEC = zoo.info("vit-micro")
LEVELS = {"bright": 200, "dark": 20}


def made(level: int, number: int) -> Image.Image:
    draw = np.random.default_rng(1000 * level + number)
    return Image.fromarray(draw.integers(level, level + 50, (24, 24, 3), dtype=np.uint8))


def png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "png")
    return file.getvalue()


@pytest.fixture
def pictures() -> tuple[list[bytes], list[str]]:
    labels = [name for _ in range(30) for name in LEVELS]
    return [png(made(LEVELS[label], number)) for number, label in enumerate(labels)], labels


@pytest.fixture
def sources(tmp_path: Path, pictures: Any, parquet: Any) -> dict[str, str]:
    """Write the same pictures for every source of tables."""
    import datasets

    contents, labels = pictures
    features = {"image": datasets.Image(), "label": datasets.ClassLabel(names=["bright", "dark"])}
    cells = [{"bytes": content, "path": None} for content in contents]
    codes = [["bright", "dark"].index(label) for label in labels]
    parquet("a.parquet", features, image=cells, label=codes)
    parquet("hub/data.parquet", features, image=cells, label=codes)
    rows = []
    for number, content in enumerate(contents):
        (tmp_path / f"{number}.png").write_bytes(content)
        rows.append({"path": f"{number}.png", "label": labels[number]})
    (tmp_path / "a.csv").write_text("path,label\n" + "".join(f"{row['path']},{row['label']}\n" for row in rows))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with tarfile.open(tmp_path / "a.tar", "w") as opened:
        for number, content in enumerate(contents):
            for ending, data in (("png", content), ("txt", labels[number].encode())):
                member = tarfile.TarInfo(f"{number}.{ending}")
                member.size = len(data)
                opened.addfile(member, io.BytesIO(data))
    return {
        "parquet": f"{tmp_path}/a.parquet",
        "hf": f"{tmp_path}/hub",
        "csv": f"{tmp_path}/a.csv",
        "jsonl": f"{tmp_path}/a.jsonl",
        "webdataset": f"{tmp_path}/*.tar?label=txt",
    }


def opened(data: str, **config: Any) -> Corpus:
    return open_corpus(data, SPEC.with_config(image_size=24, **config))


def test_every_source_of_tables_gives_the_pictures_that_were_written(sources: dict[str, str], pictures: Any) -> None:
    wanted = {np.asarray(Image.open(io.BytesIO(content))).tobytes() for content in pictures[0]}
    for name, argument in sources.items():
        corpus = opened(f"{name}:{argument}")
        assert corpus.name == f"{name}:{argument.partition('?')[0]}"
        assert corpus.overrides() == {"num_classes": 2, "in_chans": 3, "image_size": 24}
        assert sum(corpus.sizes.values()) == 60
        assert min(corpus.sizes.values()) >= 2
        found = set()
        for split in ("train", "validation", "test"):
            part = getattr(corpus.source, {"train": "splits"}.get(split, split))  # type: ignore[attr-defined]
            examples = part["train"] if split == "train" else part()
            images, good = examples.inputs.read(torch.arange(len(examples.labels)))
            assert good.all()
            dark = images.flatten(1).float().mean(1) < 128
            assert torch.equal(dark.long(), examples.labels)
            found |= {image.permute(1, 2, 0).contiguous().numpy().tobytes() for image in images}
        assert found == wanted


def test_a_path_alone_is_read_where_no_source_of_pictures_reads_it(sources: dict[str, str]) -> None:
    for name in ("parquet", "csv", "jsonl"):
        assert opened(sources[name]).name == f"{name}:{sources[name]}"


def test_parts_that_are_given_are_kept_and_classes_taken_by_name(tmp_path: Path, pictures: Any, parquet: Any) -> None:
    import datasets

    contents, labels = pictures
    cells = [{"bytes": content, "path": None} for content in contents]
    for part, order, rows in (("train", ["bright", "dark"], range(40)), ("test", ["dark", "bright"], range(40, 60))):
        features = {"image": datasets.Image(), "label": datasets.ClassLabel(names=order)}
        columns = {"image": [cells[row] for row in rows], "label": [order.index(labels[row]) for row in rows]}
        parquet(f"{part}-0.parquet", features, **columns)
    corpus = opened(f"parquet:{tmp_path}/*.parquet")
    assert corpus.sizes["test"] == 20
    assert corpus.sizes["train"] + corpus.sizes["validation"] == 40
    for (images,), target in corpus.held_out("test", 8):
        assert torch.equal((images.flatten(1).mean(1) < 0).long(), target)


def test_a_picture_that_cannot_be_read_is_replaced_named_and_not_scored(
    tmp_path: Path, pictures: Any, parquet: Any
) -> None:
    contents, labels = pictures
    for part, rows in (("train", slice(0, 40)), ("test", slice(40, 60))):
        cells = [b"no picture", *contents[rows][1:]]
        parquet(f"{part}.parquet", image=cells, label=labels[rows])
    corpus = opened(f"parquet:{tmp_path}/*.parquet")
    targets = torch.cat([batch.target for batch in corpus.held_out("test", 8)])
    assert targets[0] == IGNORED
    assert (targets[1:] != IGNORED).all()
    batch = corpus.batch(torch.arange(corpus.sizes["train"]), torch.Generator())
    assert (batch.target != IGNORED).all()
    notes = corpus.study_info().notes  # type: ignore[attr-defined]
    assert [note.endswith(": row 0, row 40") for note in notes] == [True]


def test_a_csv_that_names_files_that_are_not_there_counts_and_names_them(tmp_path: Path, offline: None) -> None:
    (tmp_path / "a.csv").write_text("path,label\n" + "".join(f"{row}.png,{'ab'[row % 2]}\n" for row in range(9)))
    with pytest.raises(DataError, match=r"9 of 9 files that column 'path' names are not there: row 0 \(0\.png\)"):
        opened(f"csv:{tmp_path}/a.csv")


def test_columns_that_are_no_picture_or_no_label_are_named(parquet: Any) -> None:
    path = parquet("a.parquet", x=[b"x"] * 4, y=[0.5] * 4, z=["a", "b", "a", "b"])
    with pytest.raises(DataError, match=r"columns x \(bytes\), y \(number\), z \(text\), and which one is image"):
        opened(f"parquet:{path}")
    with pytest.raises(DataError, match=r"column 'y' holds number, and label is class or integer or text"):
        opened(f"parquet:{path}?image=x&label=y")
    with pytest.raises(DataError, match=r"no column 'picture' for image; it has x \(bytes\)"):
        opened(f"parquet:{path}?image=picture")


def test_pictures_take_no_tokenizer(sources: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="hold no text"):
        open_corpus(f"csv:{sources['csv']}", SPEC, tokenizer="byte")


def test_a_spawned_worker_gets_the_paths_of_files_and_reads_the_same(sources: dict[str, str]) -> None:
    corpus = opened(f"parquet:{sources['parquet']}")
    sent = pickle.dumps(corpus)
    assert len(sent) < 30_000
    index = torch.arange(8)
    one, other = (each.batch(index, torch.Generator().manual_seed(0)) for each in (corpus, pickle.loads(sent)))
    assert torch.equal(one.inputs[0], other.inputs[0])


def test_a_training_on_a_table_with_fewer_pictures_than_a_batch_runs_to_its_end(
    sources: dict[str, str], tmp_path: Path
) -> None:
    zoo.train(
        "vit-micro", f"parquet:{sources['parquet']}", out=tmp_path / "out", steps=2, batch_size=256, dim=16, depth=1,
        num_heads=2, mlp_dim=16,
    )  # fmt: skip
    assert json.loads((tmp_path / "out/labels.json").read_text()) == ["bright", "dark"]
