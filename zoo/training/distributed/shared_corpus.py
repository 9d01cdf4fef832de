"""Opening data in several processes: the first learns the tokenizer and sends it to the others."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from lightning_fabric import Fabric

from zoo.data.corpus import Corpus
from zoo.errors import ConfigError


def open_shared(name: str, tokenizer: str, read: Callable[[str, str], Corpus], fabric: Fabric) -> Corpus:
    """Open data in all processes with the tokenizer of the first, since learning it again may break ties another way.

    Args:
        name: of the data.
        tokenizer: its kind or path.
        read: opens data by name and tokenizer.
        fabric: of the processes.

    Raises:
        ConfigError: If the first process failed, in the others.
    """
    if fabric.world_size == 1:
        return read(name, tokenizer)
    corpus, message = None, ("", "")
    if fabric.is_global_zero:
        try:
            corpus = read(name, tokenizer)
            message = ("", tokenizer_text(corpus))
        except Exception as error:
            fabric.broadcast((f"{type(error).__name__}: {error}", ""))  # the others wait for it
            raise
    failed, text = fabric.broadcast(message)
    if failed:
        raise ConfigError(f"data {name!r}, in the first process: {failed}")
    if corpus is not None:
        return corpus
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "tokenizer.json"
        path.write_text(text, encoding="utf-8")
        return read(name, str(path) if text else tokenizer)


def tokenizer_text(corpus: Corpus) -> str:
    """Return the text of the tokenizer file that a corpus saves; empty if it has none."""
    with tempfile.TemporaryDirectory() as scratch:
        corpus.save(Path(scratch))
        path = Path(scratch) / "tokenizer.json"
        return path.read_text(encoding="utf-8") if path.exists() else ""
