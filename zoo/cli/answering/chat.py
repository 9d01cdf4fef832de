"""`zoo chat CHECKPOINT`: a conversation with a model that generates, with earlier turns as its context."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any

import typer

from zoo.cli.answering.generate import accepted_options
from zoo.cli.arguments import Checkpoint, Device, Int8, stream_inputs
from zoo.errors import ConfigError, InputError
from zoo.names import counted
from zoo.pipeline import Pipeline

HELP = "/quit ends the conversation, /reset forgets it, /help shows this; Ctrl-D and Ctrl-C end it, too."
BETWEEN = "\n"
"""Stands between turns, as in the data source `dialogue`."""
_ROOM = 64
"""Tokens that are kept for an answer behind the context, where the caller bounds none; half of the model's at most."""


def chat(
    model: Checkpoint,
    history: Annotated[
        int | None,
        typer.Option(min=0, help="Earlier turns that the model reads; 0 for none.", show_default="all that fit"),
    ] = None,
    max_len: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of tokens of an answer.", show_default="the model's own")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Sample at this temperature.", show_default="no sampling")
    ] = None,
    top_k: Annotated[int | None, typer.Option(help="Sample from the K most probable tokens.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Nucleus sampling: from the most probable tokens with this total probability.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed of sampling.")] = None,
    device: Device = "cpu",
    int8: Int8 = False,
) -> None:
    """Talk with a model that generates: it reads all that was said before, and answers token by token.

    The context is what you and the model said, a turn in each line, as in the data source `dialogue`. The oldest turns
    are left out, with a notice, where the model reads no more tokens. Lines that are piped in are answered in order.
    """
    pipeline = Pipeline(model, device, int8=int8)
    pipeline.check_generates()
    if pipeline.spec.reads not in ("source", "prompt"):
        kind = pipeline.spec.modality
        raise ConfigError(f"{model!r} is of modality {kind!r}, which reads no typed lines: use zoo generate")
    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    options["max_len"] = pipeline.default_max_len if max_len is None else max_len
    conversation = Conversation(pipeline, accepted_options(pipeline.model, options), history)
    for line in _typed() if sys.stdin.isatty() else stream_inputs(None, None):
        if line.strip() in ("/quit", "/exit"):
            break
        _answer(conversation, line.strip())


class Conversation:
    """Turns of a user and a model.

    Args:
        pipeline: of the model.
        options: of its generation.
        history: earlier turns that are read; None for all that fit.
    """

    def __init__(self, pipeline: Pipeline, options: dict[str, Any], history: int | None = None) -> None:
        self.pipeline, self.options, self.history = pipeline, options, history
        self.turns: list[tuple[str, str]] = []
        """What was said, and the answers."""

    def context(self, said: str) -> tuple[str, int]:
        """Give what the model reads, and how many turns are left out because they do not fit.

        Raises:
            InputError: If what is said does not fit alone.
        """
        kept = self.turns[max(0, len(self.turns) - self.history) :] if self.history is not None else self.turns
        kept = kept if self.history != 0 else []
        for first in range(len(kept) + 1):
            text = BETWEEN.join([*(text for turn in kept[first:] for text in turn), said])
            tokens = self._tokens(text)
            if tokens is not None and tokens <= self.room:
                return text, first
        raise InputError(f"{tokens:,} tokens: '{self.pipeline.spec.name}' reads {self.room:,.0f} at most; say less")

    @property
    def room(self) -> float:
        """Tokens that the context may have: of a model without an encoder, the answer takes some of them."""
        limit = self.pipeline.spec.config.get("max_len")
        if not isinstance(limit, int):
            return float("inf")
        if self.pipeline.spec.reads == "source":
            return limit
        return limit - min(self.options.get("max_len", _ROOM), limit // 2)

    def answer(self, context: str, said: str) -> Iterator[str]:
        """Yield the answer piece by piece, or whole where the model generates all tokens at once; it is then kept."""
        pieces = list[str]()
        for piece in self._pieces(context):
            pieces.append(piece)
            yield piece
        self.turns.append((said, "".join(pieces)))

    def _pieces(self, context: str) -> Iterator[str]:
        if hasattr(self.pipeline.model, "generate_steps"):
            return self.pipeline.stream(context, **self.options)
        return (answers[0][0] for _, answers in self.pipeline.generate([context], **self.options))

    def _tokens(self, text: str) -> int | None:
        """Count the tokens of a text; give None for several turns that are more than the model can read."""
        try:
            return int(self.pipeline.preprocess([text])[0].shape[-1])
        except InputError:
            if BETWEEN not in text:
                raise
            return None


def _typed() -> Iterator[str]:
    """Yield what is typed, line by line, until the end of the input."""
    with suppress(ImportError):  # not on Windows
        import readline  # noqa: F401  its import lets arrow keys edit and repeat lines
    typer.echo(HELP, err=True)
    while True:
        try:
            yield input("> ")
        except (EOFError, KeyboardInterrupt):
            typer.echo(err=True)
            return


def _answer(conversation: Conversation, line: str) -> None:
    """Print the answer to a line, or do what a command says."""
    if line == "/help":
        typer.echo(HELP, err=True)
    elif line == "/reset":
        conversation.turns.clear()
    elif line.startswith("/"):
        typer.echo(f"zoo: there is no command {line!r}. {HELP}", err=True)
    elif line:
        try:
            context, out = conversation.context(line)
        except InputError as error:
            typer.echo(f"zoo: {error}", err=True)
            return
        if out:
            typer.echo(f"zoo: the model reads without the {counted(out, 'oldest turn')}, which no longer fit", err=True)
        for piece in conversation.answer(context, line):
            typer.echo(piece, nl=False)
            sys.stdout.flush()
        typer.echo()
