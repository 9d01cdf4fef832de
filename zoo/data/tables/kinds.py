"""Kinds of columns: what the cells of a column hold, in words that roles ask for and errors show."""

from typing import Any

INTEGER, NUMBER, CLASS, TEXT, BYTES = "integer", "number", "class", "text", "bytes"
IMAGE, AUDIO = OF_FILES = "image", "audio"
TEXTS, CLASSES, INTEGERS, NUMBERS = "list of text", "list of class", "list of integer", "list of number"
OTHER = "other"


def kind_of(name: str, feature: Any) -> str:
    """Say what a column holds: `image`, `audio`, `class`, `text`, `integer`, `number`, `bytes`, or a list of them.

    Args:
        name: of the column; its ending, as in `front.jpg`, tells pictures from sounds where the type does not.
        feature: of the column, as `datasets` has it.
    """
    import datasets

    if isinstance(feature, datasets.Image):
        return IMAGE
    if isinstance(feature, datasets.Audio):
        return AUDIO
    if isinstance(feature, datasets.ClassLabel):
        return CLASS
    if isinstance(feature, datasets.Value):
        return _of_value(feature.dtype)
    inner = getattr(feature, "feature", None)
    if isinstance(inner, datasets.Value | datasets.ClassLabel):
        kind = f"list of {kind_of(name, inner)}"
        return kind if kind in (TEXTS, CLASSES, INTEGERS, NUMBERS) else OTHER
    return _of_file(name) if isinstance(feature, dict) and {"bytes", "path"} & feature.keys() else OTHER


def _of_value(dtype: str) -> str:
    if dtype in ("string", "large_string", "string_view"):
        return TEXT
    if dtype == "bool" or dtype.startswith(("int", "uint")):
        return INTEGER
    if dtype.startswith(("float", "double", "decimal")):
        return NUMBER
    return BYTES if "binary" in dtype else OTHER


def _of_file(name: str) -> str:
    from datasets.packaged_modules.webdataset.webdataset import WebDataset

    ending = name.rpartition(".")[2].lower()
    if ending in WebDataset.IMAGE_EXTENSIONS:
        return IMAGE
    return AUDIO if ending in WebDataset.AUDIO_EXTENSIONS else BYTES
