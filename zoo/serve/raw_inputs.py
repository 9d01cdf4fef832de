"""Raw inputs of requests: texts, files that were uploaded, objects, numbers; what is none, or too large, is refused."""

import base64
import binascii
import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from zoo.errors import InputError
from zoo.serve.refusal import Refusal

UPLOAD = (
    'the model reads files, and none of this machine is opened: upload it (curl -F file=@NAME) or send {"base64": …}'
)


class Upload(BytesIO):
    """Bytes of a file that was uploaded, which errors name by its name.

    Args:
        data: the bytes.
        name: of the file.
    """

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data)
        self.filename = name

    def __repr__(self) -> str:
        return repr(self.filename)

    def __str__(self) -> str:
        return self.filename


def raw_input(item: Any, number: int, reads_files: bool, numbers: str = "float32", only_texts: bool = False) -> Any:
    """Make what a model's preprocessing reads of an input of a request.

    Args:
        item: a value of JSON, or an `Upload`.
        number: of the input, from 1, for errors.
        reads_files: whether the model reads files: a text would name one.
        numbers: type of an array of numbers, the attribute `numbers` of the model's preprocessing.
        only_texts: whether the model reads texts and pairs of them, and neither arrays nor objects.

    Raises:
        Refusal: If it is none of what the model reads.
    """
    if isinstance(item, Mapping) and item.keys() == {"base64"}:
        item = _decoded(item["base64"], number)
    if isinstance(item, Upload):
        if not reads_files:
            raise Refusal(422, f"input {number}: the model reads no files: send inputs as JSON, or text/plain lines")
        return item
    if _is_array(item) and not only_texts:
        return _array(item, number, numbers)
    if reads_files:
        raise Refusal(422, f"input {number}: {UPLOAD}")
    if isinstance(item, list) and len(item) == 2 and all(isinstance(each, str) for each in item):
        return tuple(item)
    if isinstance(item, Mapping) and not only_texts:
        return json.dumps(item)
    if not isinstance(item, str):
        raise Refusal(422, f"input {number} is {json.dumps(item)[:80]}: send a text")
    return item


def check_amount(raw: Any, number: int, preprocess: Any, most: Mapping[str, int]) -> None:
    """Refuse an input that holds more than a limit allows, before it is decoded.

    Args:
        raw: of `raw_input`.
        number: of the input, from 1.
        preprocess: of the model; its `amount(raw)` counts, as (number, unit); without one, characters are counted.
        most: the limits, by unit.

    Raises:
        Refusal: If it holds more, or cannot be read.
    """
    texts = raw if isinstance(raw, tuple) else (raw,)
    try:
        if hasattr(raw, "shape"):
            amount, unit = _array_amount(raw)
        elif isinstance(raw, str | Upload) and hasattr(preprocess, "amount"):
            amount, unit = preprocess.amount(raw)
        elif all(isinstance(text, str) for text in texts):
            amount, unit = sum(map(len, texts)), "characters"
        else:
            return
    except InputError as error:
        raise Refusal(422, f"input {number}: {error}") from error
    if amount > most.get(unit, amount):
        raise Refusal(413, f"input {number} has {amount:,} {unit}, more than {most[unit]:,}")


def _array_amount(raw: Any) -> tuple[int, str]:
    """Count the pixels of an array (height, width[, channels]), or the samples of one with one axis."""
    shape = tuple(raw.shape)
    return (shape[0] * shape[1], "pixels") if len(shape) > 1 else (shape[0], "samples")


def _decoded(text: Any, number: int) -> Upload:
    try:
        return Upload(base64.b64decode(text, validate=True), f"input {number}")
    except (TypeError, ValueError, binascii.Error) as error:
        raise Refusal(422, f"input {number}: base64 cannot be decoded: {error}") from error


def _array(item: Any, number: int, kind: str) -> Any:
    """Make a tensor of floats, or an array of bytes where the model's preprocessing wants it."""
    import numpy as np
    import torch

    try:
        found = torch.tensor(item, dtype=torch.float32)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise Refusal(422, f"input {number} is no array of numbers: {error}") from error
    if kind != "uint8":
        return found
    if not torch.equal(found, found.round().clamp(0, 255)):
        raise Refusal(422, f"input {number}: pixels are whole numbers from 0 to 255")
    return found.numpy().astype(np.uint8)


def _is_array(item: Any) -> bool:
    """Tell whether this is a list that begins with a number, however deep; a number alone is no array."""
    first = item
    while isinstance(first, list) and first:
        first = first[0]
    return isinstance(item, list) and isinstance(first, int | float) and not isinstance(first, bool)
