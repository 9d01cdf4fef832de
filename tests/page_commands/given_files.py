"""Files of which pages speak: pictures, sounds, texts, molecules, and data sets of the hub."""

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def write_pictures() -> None:
    """Write pictures: single ones, a folder for each class, a table and an array."""
    import datasets
    import numpy as np
    from PIL import Image
    from sklearn.datasets import load_digits

    draw = np.random.default_rng(0)
    folders = [f"pictures/{label}/{number}.png" for label in ("left", "right") for number in range(20)]
    flowers = [name.replace("pictures", "flowers") for name in folders]
    for name in ("cat.png", "dog.png", "photo.jpg", "picture.png", *folders, *flowers):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw.integers(0, 255, (32, 32, 3), np.uint8)).save(name)
    pictures = [str(Path(name).absolute()) for name in folders]
    table = datasets.Dataset.from_dict({"image": pictures, "species": ["cat", "dog"] * 20})
    datasets.disable_progress_bars()
    table.cast_column("image", datasets.Image()).to_parquet("pets/0.parquet")
    digits = load_digits()
    np.savez("own.npz", x=(digits.images * 15).astype(np.uint8), y=digits.target)


def write_sounds() -> None:
    """Write sounds: single ones, raw ones, and those of a table and of a manifest."""
    import numpy as np
    import soundfile

    draw = np.random.default_rng(0)
    for name in ("a.wav", "b.flac", "seven.wav", "742.wav"):
        soundfile.write(name, 0.1 * draw.standard_normal(16_000), 16_000)
    Path("742.raw").write_bytes((1000 * draw.standard_normal((48_000, 2))).astype("<i2").tobytes())
    clips = [(f"speaker-{number % 9}", f"{number}.wav", f"one {'two' * (number % 2)}") for number in range(40)]
    rows = [("client_id", "path", "sentence"), *clips]
    Path("clips.tsv").write_text("".join("\t".join(each) + "\n" for each in rows), encoding="utf-8")
    for name in ("DIR", "sounds/left", "sounds/right", "sounds/up"):
        Path(name).mkdir(parents=True)
    for _, path, _ in clips:
        shutil.copy("a.wav", path)
        shutil.copy("a.wav", f"DIR/{path}")
        for side in ("left", "right", "up"):
            soundfile.write(f"sounds/{side}/{path}", 0.1 * draw.standard_normal(8_000), 16_000)
    manifest = [{"audio": path, "text": text, "speaker": speaker} for speaker, path, text in clips]
    Path("DIR/manifest.jsonl").write_text("".join(json.dumps(each) + "\n" for each in manifest), encoding="utf-8")


def write_texts() -> None:
    """Write texts: lines, a table with labels, pairs, tagged words; and a table of molecules."""
    words = [(number, word) for number in range(20) for word in ("cat", "dog", "soup")]
    texts = [f"the {word} of {number} is here" for number, word in words]
    labels = [("good" if number % 2 else "bad", "north" if word == "cat" else "south") for number, word in words]
    rows = [f"{text},{label},{shop}" for text, (label, shop) in zip(texts, labels, strict=True)]
    marked = ["".join(f"{word} X{len(word)}\n" for word in text.split()) for text in texts]
    files = {
        "texts.txt": texts,
        "books.txt": [f"{text}. it was" for text in texts],
        "reviews.csv": ["text,label,shop", *rows],
        "reviews.tsv": [f"{text}\t{label}" for text, (label, _) in zip(texts, labels, strict=True)],
        "pairs.tsv": [f"{text}\tit is {label}" for text, (label, _) in zip(texts, labels, strict=True)],
        "tags.conll": marked,
        "molecules.csv": ["smiles,logp", *(f"{'C' * number}1{'C' * number}N1,{number}.5" for number in range(1, 21))],
    }
    for name, lines in files.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_rows_and_points() -> None:
    """Write what plugins of examples read: a table of customers, and clouds of points, single and in folders."""
    rows = [f"{20 + number},{('Berlin', 'Rome')[number % 2]},{number}.5,{number % 3}" for number in range(40)]
    table = [f"{row},{('no', 'yes')[number // 2 % 2]}" for number, row in enumerate(rows)]
    Path("customers.csv").write_text("\n".join(["age,city,income,products,churn", *table, ""]), encoding="utf-8")
    for number in range(20):
        points = "".join(f"{place / 9} {place % 3} {number % 5}\n" for place in range(10))
        for name in ("mug.xyz", f"FOLDER/mug/{number}.xyz", f"FOLDER/jar/{number}.xyz"):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(points, encoding="utf-8")


def write_data_sets() -> None:
    """Write small folders of the names, splits and columns of data sets of the hub, which are read as those are."""
    import datasets

    datasets.disable_progress_bars()
    texts = [f"the film of {number} is {word}" for number in range(20) for word in ("bad", "good")]
    pictures = [f"pictures/{label}/{number}.png" for number in range(20) for label in ("left", "right")]
    sides = {"text": texts, "label": [0, 1] * 20}
    write_splits("imdb", sides, {"label": datasets.ClassLabel(names=["neg", "pos"])}, ("train", "test", "unsupervised"))
    pairs = [{"de": f"das {word} ist hier", "en": f"the {word} is here"} for word in texts]
    books = {"id": [*map(str, range(40))], "translation": pairs}
    write_splits("opus_books", books, {"translation": datasets.Translation(("de", "en"))}, ("train",), "de-en")
    images = {"image": pictures, "label": sides["label"]}
    types = {"image": datasets.Image(), "label": datasets.ClassLabel(names=["tench", "goldfish"])}
    write_splits("imagenet-1k", images, types, ("train", "validation", "test"))


def write_splits(
    name: str, columns: Mapping[str, Any], types: dict[str, Any], splits: Iterable[str], config: str = "default"
) -> None:
    """Write columns as Parquet files, one for each split, with a card that names them."""
    import datasets

    rows = datasets.Dataset.from_dict(columns)
    for column, kind in types.items():
        rows = rows.cast_column(column, kind)
    for split in splits:
        rows.to_parquet(f"{name}/data/{split}-00000-of-00001.parquet")
    files = "".join(f"  - split: {split}\n    path: data/{split}-*\n" for split in splits)
    card = f"---\nconfigs:\n- config_name: {config}\n  data_files:\n{files}---\n"
    Path(name, "README.md").write_text(card, encoding="utf-8")
