"""Pairs of a sound and its transcript or label that a program gives: paths, samples with their rate, and dicts."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from zoo import DataError, ModelSpec
from zoo.data import Pairs, described_item, label_cell
from zoo.plugins.speech.data.corpus import SoundCorpus
from zoo.plugins.speech.data.sound_table import open_table

_WANTED = "a path, (samples, rate) or {'array': samples, 'sampling_rate': rate} is wanted, such as (samples, 16000)"


def open_pairs(pairs: Pairs, spec: ModelSpec, seed: int, tokenizer: str) -> SoundCorpus:
    """Make a corpus of sounds with transcripts, for models that write, else with labels.

    A sound is a path, or `(samples, rate)` with floats of -1 … 1 or int16, one channel or (channels, samples); samples
    are kept as AU files in the cache.

    Raises:
        DataError: If an item is no pair, a sound is none of these, or a label is none.
    """
    if spec.config.get("task", spec.task) == "generate":
        return open_table(pairs.table(audio=_sound, text=_text), spec, seed, tokenizer)
    return open_table(pairs.table(audio=_sound, label=label_cell), spec, seed, tokenizer)


def _text(given: Any, target: Any, place: str) -> str:
    if not isinstance(target, str):
        raise DataError(f"{place}: the transcript is {described_item(target)}; a text is wanted")
    return target


def _sound(given: Any, target: Any, place: str) -> dict[str, Any]:
    """Give the path of a sound, or its content as AU."""
    if isinstance(given, str | Path):
        path = Path(given).expanduser().absolute()
        if not path.is_file():
            raise DataError(f"{place}: there is no file {str(given)!r}")
        return {"bytes": None, "path": str(path)}
    return {"bytes": _encoded(*_samples(given, place)), "path": None}


def _samples(given: Any, place: str) -> tuple[Any, int]:
    if isinstance(given, Mapping) and {"array", "sampling_rate"} <= given.keys():
        given = given["array"], given["sampling_rate"]
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise DataError(f"{place}: the sound is {described_item(given)}; {_WANTED}")
    values, rate = given
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    whole = isinstance(rate, int | float | np.integer) and rate > 0 and int(rate) == rate
    if not whole or array.ndim not in (1, 2) or not array.size or array.dtype.kind not in "fi":
        raise DataError(f"{place}: the sound is {array.dtype} of shape {array.shape} at the rate {rate!r}; {_WANTED}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise DataError(f"{place}: samples are not finite")
    return array if array.ndim == 1 or array.shape[0] > array.shape[1] else array.T, int(rate)


def _encoded(samples: Any, rate: int) -> bytes:
    import soundfile

    file = BytesIO()
    whole = samples.dtype == np.int16
    kept = samples if whole else samples.astype(np.float32)
    # not as WAV: that of floats has the time of writing in it, and the same samples would be other data each second
    soundfile.write(file, kept, rate, format="AU", subtype="PCM_16" if whole else "FLOAT")
    return file.getvalue()
