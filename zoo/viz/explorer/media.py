"""What a model reads, to lay attention over: a picture, a sound with its spectrogram, or a graph.

Axes: c channels, h and w pixels, t samples, n vectors.
"""

import io
import wave
from base64 import b64encode
from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from zoo.viz.edge_maps import edge_maps_of
from zoo.viz.explorer.colours import png
from zoo.viz.graph_layout import layout

WIDEST = 448
"""Pixels of a picture along a side; larger ones are made smaller."""
BANDS, FRAME, HOP = 80, 400, 160
"""Rows of a spectrogram, and samples of a frame and between two."""
LOUD = 70.0
"""Decibels below the loudest that a spectrogram shows."""

Medium = dict[str, Any]


def media_of(model: Any, inputs: Sequence[Any], vectors: int, preprocess: Any) -> Medium | None:
    """Describe what the first row of inputs shows, as the page reads it; None where it shows nothing but tokens.

    Args:
        model: that reads it.
        inputs: as for `forward`.
        vectors: of its first attention.
        preprocess: of the model, which tells how values and rates were changed; None if unknown.
    """
    first = inputs[0]
    if not isinstance(first, Tensor):
        return None
    changed = first.is_floating_point() and hasattr(preprocess, "portable")  # not of ids: that reads a tokenizer
    told = preprocess.portable() if changed else {}
    if first.is_floating_point() and first.ndim == 4:
        return picture(first[0], vectors, told)
    stem = getattr(model, "stem", None)
    step, unit = getattr(stem, "spacing", (0.0, ""))
    if first.is_floating_point() and first.ndim == 2 and unit == "s":
        lengths = inputs[1] if len(inputs) > 1 else None
        samples = first[0] if lengths is None else first[0, : int(lengths[0])]
        return sound(samples, told.get("rate", 16_000), step)
    edges = edge_maps_of(model, inputs)
    return graph(edges[0].index, max(each.nodes for each in edges), len(first)) if edges else None


def grid_of(height: int, width: int, vectors: int) -> tuple[int, int]:
    """Give rows and columns of the patches of a picture; what is left of its vectors stands in front of them.

    Of all grids with square patches that fit, it is that with the most.
    """
    rows = isqrt(vectors * height // width)
    while rows > 1 and rows * round(rows * width / height) > vectors:
        rows -= 1
    columns = max(1, round(rows * width / height))
    return (rows, columns) if rows and rows * columns <= vectors else (1, 1)


def pixels_of(image: Float[Tensor, "c h w"], told: dict[str, Any]) -> UInt8[Tensor, "h w 3"]:
    """Give the pixels of an image as it is before normalisation.

    Args:
        image: as a model reads it.
        told: mean and standard deviation that it was normalised with; without, it is stretched to black and white.
    """
    x = image.float().cpu()
    if told.get("mean") is not None and len(told["mean"]) == len(x):
        x = x * torch.tensor(told["std"])[:, None, None] + torch.tensor(told["mean"])[:, None, None]
    else:
        x = (x - x.min()) / (x.max() - x.min()).clamp(min=1e-9)
    pixels = (255 * x[:3].clamp(0, 1)).round().byte().permute(1, 2, 0)
    if pixels.shape[2] == 2:
        pixels = torch.cat([pixels, pixels[..., :1]], dim=2)
    return pixels.expand(-1, -1, 3)


def picture(image: Float[Tensor, "c h w"], vectors: int, told: dict[str, Any]) -> Medium:
    """Show an image, of which so many vectors are made."""
    height, width = image.shape[1:]
    rows, columns = grid_of(height, width, vectors)
    step = -(-max(height, width) // WIDEST)
    shown = pixels_of(image, told)[::step, ::step]
    return {
        "kind": "picture",
        "url": _url("image/png", png(shown.contiguous().numpy())),
        "size": [width, height],
        "grid": [rows, columns],
        "prefix": vectors - rows * columns,
    }


def sound(samples: Float[Tensor, " t"], rate: int, step: float) -> Medium:
    """Show a sound as a spectrogram, and let it be played."""
    x = samples.float().cpu()
    padded = torch.nn.functional.pad(x, (0, max(0, FRAME - len(x))))
    power = torch.stft(padded, FRAME, HOP, window=torch.hann_window(FRAME), return_complex=True).abs().square()
    bands = torch.nn.functional.adaptive_avg_pool1d(power.T[None], BANDS)[0].T
    level = 10 * (bands + 1e-10).log10()
    grey = ((level - level.max() + LOUD) / LOUD).clamp(0, 1).flip(0)
    pixels = (255 * (1 - grey)).round().byte()[..., None].expand(-1, -1, 3).contiguous().numpy()
    return {
        "kind": "sound",
        "url": _url("image/png", png(pixels)),
        "wave": _url("audio/wav", _wave(x, rate)),
        "seconds": len(x) / rate,
        "hertz": rate // 2,
        "step": step,
    }


def graph(index: Tensor, nodes: int, given: int) -> Medium:
    """Show a graph with its nodes in place; those that a model added behind the given ones are named so."""
    places = layout(index.numpy(), nodes)
    joined = sorted({tuple(sorted(edge)) for edge in index.T.tolist() if edge[0] != edge[1]})
    return {
        "kind": "graph",
        "places": [[round(float(value), 4) for value in place] for place in places],
        "edges": [list(edge) for edge in joined],
        "given": given,
    }


def _wave(samples: Float[Tensor, " t"], rate: int) -> bytes:
    """Write samples as a WAV file of 16 bits, as loud as it can be."""
    scale = 32767 / max(float(samples.abs().max()) if len(samples) else 1.0, 1e-9)
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(2)
        written.setframerate(rate)
        written.writeframes((samples.numpy() * min(scale, 32767)).astype("<i2").tobytes())
    return file.getvalue()


def _url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{b64encode(data).decode()}"


def places_of(medium: Medium | None, vectors: int) -> "Float[Tensor, 'n 2'] | None":
    """Give row and column of each vector of a picture, NaN for those in front; None of anything else."""
    if medium is None or medium["kind"] != "picture":
        return None
    rows, columns = medium["grid"]
    at = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), -1).reshape(-1, 2)
    found = torch.full((vectors, 2), float("nan"))
    found[medium["prefix"] : medium["prefix"] + rows * columns] = torch.from_numpy(at).float()
    return found
