"""`explore`: the attention of a model for an input, as a page that a notebook shows and a file keeps."""

from collections.abc import Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any

import torch

from zoo.atomic_write import atomic_path
from zoo.core.models.generator import Generator, check_whole
from zoo.core.models.non_autoregressive import NonAutoregressive
from zoo.errors import ConfigError, InputError, ZooError
from zoo.factory import create
from zoo.pipeline import prepared
from zoo.viz.explorer.generation import Names, following, steps_of, write
from zoo.viz.explorer.page import page
from zoo.viz.explorer.pane import MOST, Pane, Read, pane_of
from zoo.viz.node_names import names_of_nodes
from zoo.viz.recorder import Selection, check_chosen, check_length

HEIGHT = 900
"""Pixels of a page in a notebook."""
TOKENS = 64
"""New tokens at most where the caller sets no bound."""
SIDES = 2
"""Inputs that a page shows side by side."""


class Exploration:
    """A page of attention: shown in a notebook, or saved as an HTML file that needs no network.

    Args:
        panes: one, or two side by side.
        command: that makes it again.
    """

    def __init__(self, panes: Sequence[Pane], command: str = "") -> None:
        self.panes = list(panes)
        self.html = page(self.panes, command)

    def beside(self, other: "Exploration") -> "Exploration":
        """Give a page with this exploration and another, side by side: two inputs, checkpoints or mechanisms.

        Raises:
            ConfigError: If the other is none.
        """
        if not isinstance(other, Exploration):
            raise ConfigError(f"beside({other!r}): another page of explore() is wanted")
        return Exploration([*self.panes, *other.panes][:SIDES])

    def save(self, path: str | Path) -> Path:
        """Save the page.

        Raises:
            ConfigError: If the file cannot be written, or is no HTML by its ending.
        """
        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise ConfigError(f"save({str(path)!r}): its ending is none of .html, .htm")
        try:
            with atomic_path(Path(path)) as scratch:
                scratch.write_text(self.html, encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error
        return Path(path)

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame of its own."""
        frame = 'sandbox="allow-scripts allow-downloads" width="100%" style="border:0"'
        return f'<iframe {frame} height="{HEIGHT}" title="attention" srcdoc="{escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"Exploration({', '.join(pane.title for pane in self.panes)}; {len(self.html):,} characters)"


def explore(
    model: Any,
    *inputs: Any,
    layers: Any = (),
    heads: Any = (),
    part: str | None = None,
    max_len: int | None = None,
    beam: int = 1,
    title: str = "",
) -> Exploration:
    """Explore the attention of a model for the first row of its inputs, as a page.

    Args:
        model: of any kind with attention weights.
        inputs: as for the model; or raw, as its preprocessing reads them: a text, a file, a PIL image. Two raw inputs,
            or a list of them, stand side by side.
        layers: numbers of the layers that are shown, from 1; all if empty.
        heads: numbers of the heads; all if empty.
        part: `encoder`, `decoder` or `cross`; all if None.
        max_len: tokens at most that a model writes.
        beam: answers that are followed at once while it writes.
        title: of the page; the model's name by default.

    Raises:
        ConfigError: If the model has no attention weights, or not the chosen ones, or a number is no whole one.
        InputError: If there are more weights than a page holds, or an input cannot be read.
    """
    check_whole(beam=beam, max_len=max_len)
    title = title or getattr(getattr(model, "spec", None), "name", type(model).__name__)
    chosen = Selection(part, _numbers("layers", layers), _numbers("heads", heads), MOST)
    check_chosen(model, chosen)
    preprocess, postprocess = _known(create.preprocess, model), _known(create.postprocess, model)
    training = model.training
    model.eval()
    try:
        panes = [
            pane_of(model, read_of(model, shown, ready, preprocess, postprocess, max_len, beam, nodes), chosen)
            for shown, ready, nodes in _prepared(model, inputs, title, preprocess)
        ]
    finally:
        model.train(training)
    return Exploration(panes)


def _numbers(keyword: str, given: Any) -> tuple[int, ...]:
    """Give the numbers of layers or heads.

    Raises:
        ConfigError: If they are none.
    """
    if isinstance(given, Sequence) and all(type(number) is int for number in given):
        return tuple(given)
    raise ConfigError(f"{keyword}={given!r} is no list of numbers: write {keyword}=[1, 3], counted from 1")


def _prepared(
    model: Any, inputs: tuple[Any, ...], title: str, preprocess: Any
) -> list[tuple[str, tuple[Any, ...], list[str]]]:
    """Give title, inputs and names of nodes for each pane; raw inputs are prepared as the command prepares them.

    Raises:
        InputError: If there are none, more than a page shows, or one cannot be read.
        ConfigError: If the model has no preprocessing.
    """
    raw = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], list) else inputs
    if len(raw) == 0:
        wanted = ", ".join(model.input_names())
        raise InputError(f"explore() of '{title}' without an input: give {wanted}, or what zoo predict reads")
    if any(hasattr(each, "to") for each in inputs):  # tensors, and what else moves between devices
        for each in inputs:
            if isinstance(each, str | Path):
                raise InputError(f"explore() of '{title}': {str(each)!r} beside tensors: give tensors, or it alone")
        return [(title, inputs, [])]
    if len(raw) > SIDES:
        raise InputError(f"explore() of {len(raw)} inputs: a page shows {SIDES} side by side")
    preprocess = preprocess or create.preprocess(model)  # whose error says why there is none
    device = next(model.parameters()).device
    found = []
    for number, each in enumerate(raw, 1):
        made = prepared(preprocess, [str(each) if isinstance(each, Path) else each])
        label = str(each) if isinstance(each, str | Path) else f"input {number}" if len(raw) > 1 else ""
        ready = tuple(part.to(device) for part in (made if isinstance(made, tuple) else (made,)))
        found.append((f"{title}: {label}" if label else title, ready, names_of_nodes(preprocess, each)))
    return found


def read_of(
    model: Any,
    title: str,
    inputs: tuple[Any, ...],
    reader: Any,
    writer: Any,
    max_len: int | None = None,
    beam: int = 1,
    nodes: Sequence[str] = (),
) -> Read:
    """Let a model write its answer, where it writes, and name the tokens of its inputs.

    Args:
        model: in evaluation mode.
        title: of model and input.
        inputs: as for `generate`, or as for `forward` with the answer's ids.
        reader: has the tokenizer of the source, or of the prompt.
        writer: has that of the answer.
        max_len: tokens at most that are written.
        beam: answers that are followed at once.
        nodes: names of the nodes of a graph; none where they have only numbers.
    """
    has_encoder = getattr(model, "encoder", None) is not None
    names = _names(writer if has_encoder else reader)
    generation, written = None, tuple(inputs)
    bound = f"beam={beam}" if beam > 1 else f"max_len={max_len}"
    tokens: list[tuple[int, int]] = []
    if isinstance(model, Generator) and not _float_targets(model):
        prompt, tree, end = 1, [], None
        if _is_ids(inputs[0]) and not _reads_edges(model):
            check_length(inputs[0].shape[1], MOST)
        if not has_encoder or not _answered(model, inputs):
            most = TOKENS if max_len is None else max_len
            found = write(model, _first_row(model, inputs), min(most, model.max_len or most), beam, names)
            written, prompt, tree, end = found.inputs, found.prompt, found.tree, found.end
        elif beam > 1 or max_len is not None:
            raise ConfigError(
                f"{bound}: '{title}' holds its answer already, so nothing is written; give an input without one"
            )
        generation = {"prompt": prompt, "steps": steps_of(model, written, prompt, names, end), "tree": tree}
        tokens = following(model, written, prompt, end)
    elif beam > 1 or (max_len is not None and not hasattr(model, "generate")):
        raise ConfigError(f"{bound}: '{title}' writes no tokens one by one")
    elif hasattr(model, "generate") and not _answered(model, inputs):
        written = model.with_answer(*inputs, max_len=max_len)
    if isinstance(model, NonAutoregressive):
        tokens = list(enumerate(written[-1][0].tolist()[1:]))
    source: list[str] = []
    target: list[str] = []
    if getattr(model, "target", None) is None:
        source = _tokens(written[0], _names(reader))
    elif not has_encoder:
        target = _tokens(written[0], names)
    else:
        source, target = _tokens(written[0], _names(reader)), _tokens(written[-1], names)
    return Read(title, written, source, target, generation, reader, tokens, nodes)


def _known(make: Any, model: Any) -> Any:
    with suppress(ZooError, OSError):
        return make(model)
    return None


def _names(holder: Any) -> Names:
    tokenizer = None
    with suppress(ZooError):  # ids are read without it; only their names are missing
        tokenizer = getattr(holder, "tokenizer", None)
    if tokenizer is None:
        return lambda ids: [str(place) for place in ids]
    return lambda ids: [visible(name) for name in tokenizer.names(ids)]


def visible(name: str) -> str:
    """Write characters that cannot be seen as their codes."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in name)


def _is_ids(value: Any) -> bool:
    ids = hasattr(value, "is_floating_point") and not value.is_floating_point() and value.ndim == 2
    return ids and value.dtype != torch.bool  # a mask of what is valid


def _answered(model: Any, inputs: Sequence[Any]) -> bool:
    """Tell whether the last inputs are the target's ids; behind edges, which the first four inputs tell."""
    return len(inputs) > (4 if _reads_edges(model) else 1) and _is_ids(inputs[-1])


def _reads_edges(model: Any) -> bool:
    names = getattr(model, "input_names", list)
    return "edge_index" in names()


def _first_row(model: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Give the first row of each input; of what has edges, which stands in one row, all."""
    if _reads_edges(model):
        return tuple(inputs)
    return tuple(each[:1] if hasattr(each, "ndim") and each.ndim else each for each in inputs)


def _float_targets(model: Any) -> bool:
    """Tell whether a model writes vectors, as in speech synthesis, and no tokens."""
    return not hasattr(model.head, "num_classes") or not hasattr(model, "symbols")


def _tokens(ids: Any, names: Names) -> list[str]:
    return names(ids[0].tolist()) if _is_ids(ids) else []
