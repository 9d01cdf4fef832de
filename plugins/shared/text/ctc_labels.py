"""Vocabularies of CTC models of Hugging Face transformers: a `vocab.json`, as `Wav2Vec2CTCTokenizer` reads it.

Imports nothing heavy.
"""

from collections.abc import Mapping
from typing import Any

from zoo import WeightsError
from zoo.weights import read_json

_CLASS = "Wav2Vec2CTCTokenizer"
_DELIMITER = "|"
"""What stands for a space among labels."""


def ctc_labels(repository: str, outputs: int | None = None) -> dict[str, Any]:
    """Give `labels` and `blank` as keywords of a model; nothing where a repository has no `vocab.json`.

    The word delimiter is written `|`. A vocabulary whose text is lower case by `do_lower_case` has labels in lower
    case. Numbers without a token, as fill a vocabulary up, get a name of their own.

    Args:
        repository: `local-dir:PATH` or `hf-hub:org/name`.
        outputs: of the model, if they are known: tokens beyond them are left out.

    Raises:
        WeightsError: If the tokenizer is of another kind, or names a token that its vocabulary lacks.
    """
    vocabulary = read_json(repository, "vocab.json")
    if not vocabulary:
        return {}
    told = read_json(repository, "special_tokens_map.json") | read_json(repository, "tokenizer_config.json")
    kind = told.get("tokenizer_class", _CLASS)
    if kind != _CLASS:
        raise WeightsError(f"{repository!r}: tokenizer_class={kind!r} is not read, only {_CLASS!r}")
    tokens = _tokens(repository, vocabulary, told)
    delimiter = _text(told.get("word_delimiter_token", _DELIMITER))
    if delimiter != _DELIMITER:
        if _DELIMITER in tokens.values():
            raise WeightsError(f"{repository!r}: word_delimiter_token={delimiter!r} beside a token {_DELIMITER!r}")
        tokens = {place: _DELIMITER if token == delimiter else token for place, token in tokens.items()}
    pad = _text(told.get("pad_token", "<pad>"))
    blank = next((place for place, token in tokens.items() if token == pad), None)
    size = max(tokens) + 1 if outputs is None else outputs
    if blank is None or blank >= size:
        raise WeightsError(f"{repository!r}: pad_token={pad!r}, the blank, is none of {size} tokens in vocab.json")
    labels = [tokens.get(place, f"<{place}>") for place in range(size)]
    if told.get("do_lower_case"):
        labels = [label.lower() for label in labels]
    return {"labels": labels, "blank": blank}


def _tokens(repository: str, vocabulary: Mapping[str, Any], told: Mapping[str, Any]) -> dict[int, str]:
    """Give tokens by id: of one language, where there are several; those that were added are behind."""
    if any(isinstance(part, Mapping) for part in vocabulary.values()):
        language = str(told.get("target_lang"))
        if language not in vocabulary:
            raise WeightsError(
                f"{repository!r}: target_lang={language!r} of tokenizer_config.json is none of the "
                f"{len(vocabulary)} languages in vocab.json"
            )
        vocabulary = vocabulary[language]
    added = read_json(repository, "added_tokens.json")
    more = {int(place): _text(token) for place, token in (told.get("added_tokens_decoder") or {}).items()}
    return {**more, **{place: token for token, place in (added | dict(vocabulary)).items()}}


def _text(token: Any) -> str:
    return token["content"] if isinstance(token, Mapping) else str(token)
