"""Programs that a model is exported as: one that answers, or for models that write, an encoder and a step with a cache.

Axes: b rows, n tokens, p tokens that the cache keeps, m vectors of the source.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from zoo.core import Composition, Decoder, Generator, NonAutoregressive, RecurrentLayers
from zoo.deploy.at_once import AtOnce, Places
from zoo.deploy.decoding import Decode, Encode
from zoo.deploy.speaking import Speak
from zoo.deploy.stepping import Begin, Step
from zoo.errors import ConfigError
from zoo.registry import entry_loading
from zoo.spec import ModelSpec

CASES = 4
"""Sizes of inputs: that with which a program is traced, and three at which it is checked."""
ROWS = (2, 1, 3, 4)
SHARES = (1.0, 0.75, 0.5, 0.875)
"""Of the example's length."""
TOKENS, KEPT = (8, 10, 12, 14), (3, 0, 11, 6)
"""Of a decoder, and how many of them the cache keeps: the second case is a prefill, the third a step."""
FRAMES = 16
"""Of a chunk of a streaming step: 160 ms of sound."""
MANY = 2**62
"""Frames of a sound whose end is not known."""
NAMES = {"graph": ("x", "edge_index", "edge_attr", "batch", "pairs"), "vision": ("pixels",)}
"""Inputs by modality, where not the stem names them."""


@dataclass(frozen=True, eq=False)
class Program:
    """One exported program.

    Args:
        name: of its file.
        module: computes it.
        names: of the inputs.
        outputs: their names.
        cases: inputs of several sizes; axes whose sizes differ become dynamic.
    """

    name: str
    module: nn.Module
    names: tuple[str, ...]
    outputs: tuple[str, ...]
    cases: Sequence[tuple[Tensor, ...]]

    def dynamic_axes(self) -> list[list[int]]:
        """Give, for each input, the axes whose size differs between the cases."""
        traced, *others = self.cases
        return [
            [axis for axis in range(x.ndim) if any(case[place].shape[axis] != x.shape[axis] for case in others)]
            for place, x in enumerate(traced)
        ]


class Forward(nn.Module):
    """What a module gives, where inputs that are None are left out of the program's.

    Args:
        model: any composition, or the part of it that reads a source.
        given: for each input of the model, whether the program has it.
    """

    def __init__(self, model: nn.Module, given: Sequence[bool]) -> None:
        super().__init__()
        self.model = model
        self.given = tuple(given)

    def forward(self, *tensors: Tensor) -> Any:
        """Give it."""
        rest = iter(tensors)
        return self.model(*(next(rest) if given else None for given in self.given))


def programs(model: Any) -> list[Program]:
    """Give the programs that a model needs, each with inputs of several sizes.

    Args:
        model: made by `zoo.create`, in evaluation mode.
    """
    if isinstance(model, Generator) and model.spec.task == "generate":
        if isinstance(model.decoder, Decoder):
            return _writing(model)
        if isinstance(model.decoder, RecurrentLayers):
            return _stepping(model)
    if isinstance(model, NonAutoregressive):
        return _at_once(model)
    if hasattr(model, "max_steps") and isinstance(getattr(model, "decoder", None), Decoder):
        return _speaking(model)
    whole = _reading(model, "model", model, ("answer",), [inputs_of(model, case) for case in range(CASES)])
    return [whole, *_streaming(model, [case[0] for case in whole.cases])]


def _reading(
    model: Any, name: str, part: nn.Module, outputs: tuple[str, ...], cases: Sequence[tuple[Any, ...]]
) -> Program:
    """Give a program of a part of a model that reads its inputs, of which those that are None are left out."""
    given = [x is not None for x in cases[0]]
    tensors = [tuple(x for x in case if x is not None) for case in cases]
    return Program(name, Forward(part, given), _input_names(model, cases[0]), outputs, tensors)


def _encode(model: Any, part: nn.Module, outputs: tuple[str, ...], sources: Sequence[tuple[Any, ...]]) -> Program:
    """Give `encode` of a part that reads a source: all inputs but the last, which is what was written so far."""
    return _reading(model, "encode", part, outputs, [case[:-1] for case in sources])


def inputs_of(model: Any, case: int) -> tuple[Any, ...]:
    """Give inputs of a model as its exported program reads them, such as features of sounds in place of samples.

    Args:
        model: made by `zoo.create`.
        case: which sizes.
    """
    spec: ModelSpec = model.spec
    raw = entry_loading.load(spec, spec.example)(spec.config, ROWS[case], case)
    precomputed = getattr(model, "precomputed", getattr(getattr(model, "stem", None), "precomputed", None))
    if precomputed is not None:
        source, target = model.split(tuple(raw))
        with torch.no_grad():
            raw = (*precomputed(*source), *target)
    return _shortened(raw, SHARES[case]) if spec.modality != "graph" else tuple(raw)


def _shortened(inputs: tuple[Any, ...], share: float) -> tuple[Any, ...]:
    """Take a share of the length: the second axis of ids and of features; lengths are cut to it."""
    found: list[Any] = []
    longest = None
    for x in inputs:
        if isinstance(x, Tensor) and x.ndim in (2, 3):
            longest = max(2, int(x.shape[1] * share))
            x = x[:, :longest]
        elif isinstance(x, Tensor) and x.ndim == 1 and longest is not None:
            x = x.clamp(max=longest)
        found.append(x)
    return tuple(found)


def _input_names(model: Any, inputs: tuple[Any, ...]) -> tuple[str, ...]:
    """Name the inputs that are there."""
    names: Sequence[str] = NAMES.get(model.spec.modality, ())
    if not names and isinstance(model, Composition):
        names = ["features" if name == "sounds" else name for name in model.input_names() if not name.startswith("*")]
    numbered = [names[place] if place < len(names) else f"input_{place}" for place in range(len(inputs))]
    return tuple(name for name, x in zip(numbered, inputs, strict=True) if x is not None)


def _writing(model: Generator) -> list[Program]:
    """Give `decode`, which reads ids behind those that the cache keeps, and in front of it `encode` with an encoder."""
    cache = _cache_names(model)
    crossing = tuple(f"source_{name}" for name in cache) if model.encoder is not None else ()
    sources = [inputs_of(model, case) for case in range(CASES)]
    found = []
    decode = Decode(model)
    contexts: list[tuple[Tensor, ...]] = [() for _ in sources]
    if model.encoder is not None:
        encode = _encode(model, Encode(model), ("source_mask", *crossing), sources)
        found.append(encode)
        with torch.no_grad():
            contexts = [encode.module(*case) for case in encode.cases]
    cases = []
    for case, (source, context) in enumerate(zip(sources, contexts, strict=True)):
        row = source[0 if model.encoder is None else -1].repeat(1, max(TOKENS))[:, : TOKENS[case]]
        mask = torch.ones(row.shape, dtype=torch.bool)
        mask[-1, 0] = len(row) == 1  # padding in front, where there are several rows
        with torch.no_grad():
            start = decode.empty(len(row))
            _, *past = (
                decode(row[:, : KEPT[case]], mask[:, : KEPT[case]], *start, *context) if KEPT[case] else (0, *start)
            )
        cases.append((row[:, KEPT[case] :], mask, *past, *context))
    outputs = ("scores", *(f"new_{name}" for name in cache))
    masks = ("source_mask",) if crossing else ()
    names = ("ids", "mask", *cache, *masks, *crossing)
    return [*found, Program("decode", decode, names, outputs, cases)]


def _speaking(model: Any) -> list[Program]:
    """Give `encode`, and `speak`, which writes the frames of steps behind those that the cache keeps."""
    cache = _cache_names(model)
    crossing = tuple(f"source_{name}" for name in cache)
    sources = [inputs_of(model, case) for case in range(CASES)]
    encode, speak = _encode(model, Encode(model), ("source_mask", *crossing), sources), Speak(model)
    cases = []
    for case, (source, read) in enumerate(zip(sources, encode.cases, strict=True)):
        steps = source[-1].repeat(1, max(TOKENS), 1, 1)[:, : TOKENS[case]]
        with torch.no_grad():
            context, past = encode.module(*read), speak.empty(len(steps))
            if KEPT[case]:
                _, _, *past = speak(steps[:, : KEPT[case]], *past, *context)
        cases.append((steps[:, KEPT[case] :], *past, *context))
    return [
        encode,
        Program(
            "speak", speak, ("frames", *cache, "source_mask", *crossing),
            ("written", "ends", *(f"new_{name}" for name in cache)), cases,
        ),
    ]  # fmt: skip


def _cache_names(model: Any) -> tuple[str, ...]:
    """Name the keys and values of each layer of a decoder."""
    return tuple(f"{part}_{layer}" for layer in range(len(model.decoder.blocks)) for part in ("key", "value"))


def _stepping(model: Generator) -> list[Program]:
    """Give `decode` of a recurrent decoder, which reads one id, and in front of it `encode` with an encoder."""
    sources = [inputs_of(model, case) for case in range(CASES)]
    found, contexts = list[Program](), [tuple[Tensor, ...]()] * CASES
    if model.encoder is None:
        decode = Step(model, ("hidden",))
        states = [decode.empty(rows) for rows in ROWS]
    else:
        begin = Begin(model)
        with torch.no_grad():
            parts = [begin.parts(*case[:-1]) for case in sources]
        carried, kept = (tuple(part) for part in parts[0])
        found.append(_encode(model, begin, (*carried, *(f"source_{name}" for name in kept)), sources))
        decode = Step(model, carried, kept)
        states, contexts = [list(own.values()) for own, _ in parts], [tuple(source.values()) for _, source in parts]
    cases = []
    for source, state, context, read in zip(sources, states, contexts, KEPT, strict=True):
        row, place = source[0 if model.encoder is None else -1], torch.zeros(len(state[0]), 1, dtype=torch.long)
        for step in range(read):
            with torch.no_grad():
                _, *state = decode(row[:, step % row.shape[1], None], place + step, *state, *context)
        cases.append((row[:, read % row.shape[1], None], place + read, *state, *context))
    names = ("ids", "position", *decode.carried, *(f"source_{name}" for name in decode.kept))
    return [*found, Program("decode", decode, names, ("scores", *(f"new_{name}" for name in decode.carried)), cases)]


def _at_once(model: NonAutoregressive) -> list[Program]:
    """Give `encode`, which says how many places there are, and `decode`, which gives the scores of all of them."""
    sources = [inputs_of(model, case) for case in range(CASES)]
    kept = ("source_mask", "source_vectors", "source_encoded")
    encode = _encode(model, Places(model), ("places", *kept), sources)
    with torch.no_grad():
        contexts = [encode.module(*case)[1:] for case in encode.cases]
    cases = []
    for context, most in zip(contexts, TOKENS, strict=True):
        slots = torch.arange(most) <= torch.arange(len(context[0]))[:, None] + most // 2
        slots[-1] = True
        cases.append((slots, *context))
    return [encode, Program("decode", AtOnce(model), ("slots", *kept), ("scores",), cases)]


def _streaming(model: Any, features: Sequence[Tensor]) -> list[Program]:
    """Give `step` of a model that answers while its input comes: a chunk of frames, with the state in and out."""
    make = getattr(model, "streaming_step", None)
    if make is None:
        return []
    try:
        step = make()
        cases = [_pushed(step, x[:, :1].repeat(1, 2 * FRAMES, 1), seen) for seen, x in enumerate(features)]
    except ConfigError:  # it reads its input whole
        return []
    kept = [f"state_{place}" for place in range(len(cases[0]) - 3)]
    # not "first": torch.onnx 2.14 has a value of that name inside, and onnxruntime refuses the second
    outputs = ("answer", "position", "count", *(f"new_{name}" for name in kept))
    return [Program("step", step, ("features", "seen", "end", *kept), outputs, cases)]


@torch.no_grad()
def _pushed(step: Any, x: Tensor, chunks: int) -> tuple[Tensor, ...]:
    """Give a chunk of a stream, behind so many others."""
    x = x * torch.linspace(0.5, 1.5, x.shape[1])[:, None]
    state = step.start(x[:, :FRAMES])
    for chunk in range(chunks):
        _, _, _, *state = step(x[:, :FRAMES], torch.tensor(chunk * FRAMES), torch.tensor(MANY), *state)
    return (
        x[:, FRAMES:],
        torch.tensor(chunks * FRAMES),
        torch.tensor(MANY if chunks % 2 else chunks * FRAMES + 9),
        *state,
    )
