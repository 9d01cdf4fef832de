"""`choose_tokenizer`: from the value of `tokenizer=` to a tokenizer."""

from collections.abc import Iterable

from zoo import ConfigError
from zoo.plugins.shared.text import vocabulary
from zoo.plugins.shared.text.tokenizer import Tokenizer


def choose_tokenizer(name: str, default: str, texts: Iterable[str]) -> Tokenizer:
    """Make or read the tokenizer that a user names: `byte`, `char`, `word`, `bpe:8000`, `wordpiece:8000`, a file.

    Raises:
        ConfigError: If the name is none of these.
    """
    kind, _, size = (name or default).partition(":")
    if kind == "byte" and not size:
        return Tokenizer.byte_level()
    if kind in vocabulary.LISTS and not size:
        return Tokenizer(vocabulary.LISTS[kind](texts))
    if kind in vocabulary.LEARNERS and (size.isdigit() or not size):
        return Tokenizer.train(texts, kind, int(size or 8000))
    if name.endswith(".json"):
        return Tokenizer.load(name)
    raise ConfigError(
        f"tokenizer={name!r} is not one of byte, {', '.join(vocabulary.LISTS)}, "
        f"{', '.join(f'{each}:SIZE' for each in vocabulary.LEARNERS)}, "
        "nor the path of a tokenizer.json"
    )
