"""The source `dialogue`: turns of conversations, drawn by a grammar or from the user's files.

An example is what was said so far, a turn in each line, with the answer to the last: what a model reads in `zoo chat`.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, Parts, by_text, complete, fingerprint, parse
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.text.data.parallel_corpus import GeneratedPair, Pair, ParallelCorpus
from zoo.plugins.text.data.synthetic.dialogue_grammar import Dialogue, draw_dialogues
from zoo.plugins.text.data.synthetic.tasks import in_parts
from zoo.plugins.text.data.text_files import lines, locate

SIZES = (8000, 200, 400)
"""Dialogues of training, validation and test that are drawn."""
BETWEEN = "\n"
"""Stands between turns."""
_ROLES = ("user", "assistant")


class DialogueCorpus(ParallelCorpus):
    """Serve what was said so far with the answer, scored by exact match: of all turns, and by their number."""

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Give the share of answers without a mistake, and that of each turn of a dialogue."""
        written = self.write(model, split, batch_size)
        found = self.metrics_of(written)
        for turn in sorted({_turn(each) for each in written}):
            group = [each for each in written if _turn(each) == turn]
            found |= {f"{name}, turn {turn}": value for name, value in self.metrics_of(group).items()}
        return found | self.token_metrics(model, split, batch_size)


def open_dialogue(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> DialogueCorpus:
    """Open drawn dialogues, or a file of yours: a JSON object with `messages` or `turns` in each line.

    Dialogues are in one part whole. Of drawn ones, what was said so far in the test never occurs in training.

    Raises:
        DataError: If a file cannot be read.
    """
    place, _ = parse(argument, ())
    if place:
        read = {
            part: [each for path in paths for each in read_dialogues(path)] for part, paths in locate(place).items()
        }
        parts = complete(read, lambda each: BETWEEN.join(each.turns), seed, Path(place).name, by_text)
        found = Parts(*(list(_said(part)) for part in parts))
    else:
        found = unseen(Parts(*(list(_said(part)) for part in in_parts(draw_dialogues(sum(SIZES), seed), SIZES))))
    chosen = choose_tokenizer(tokenizer, "bpe:1000", (text for pair in found.train for text in pair[:2]))
    return DialogueCorpus(_about(place, found, seed, chosen.content), spec, chosen, found, metric="exact match")


def unseen(parts: Parts[Pair]) -> Parts[Pair]:
    """Leave out of validation and test what is read in training or in the part before, too."""
    known = {pair.source for pair in parts.train}
    validation = [pair for pair in parts.validation if pair.source not in known]
    known |= {pair.source for pair in validation}
    return Parts(parts.train, validation, [pair for pair in parts.test if pair.source not in known])


def read_dialogues(path: Path) -> Iterator[Dialogue]:
    """Read a dialogue of each line: `{"messages": [{"role": "user", "content": …}, …]}`, or `{"turns": [text, …]}`.

    A first message of the role `system` stands before what the user says first.

    Raises:
        DataError: If a line is neither, or the turns do not alternate between user and assistant.
    """
    empty = True
    for number, line in lines(path):
        if line.strip():
            empty = False
            yield Dialogue(_turns(line, f"{path}:{number}"), f"{path}:{number}")
    if empty:
        raise DataError(f"{path} is empty: it has no dialogues")


def _turns(line: str, place: str) -> tuple[str, ...]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise DataError(f"{place}: no JSON: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("messages", found.get("turns")), list):
        raise DataError(f"{place}: no JSON object with a list of messages or of turns")
    texts = _contents(found["messages"], place) if "messages" in found else found["turns"]
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{place}: turn {number} is {text!r}, no text")
    if len(texts) < 2:
        raise DataError(f"{place}: {len(texts)} turns: a dialogue has what the user says and an answer")
    return tuple(" ".join(text.split()) for text in texts)


def _contents(messages: Sequence[Any], place: str) -> list[str]:
    """Give the texts of messages by role and content."""
    before, texts = "", list[str]()
    for number, message in enumerate(messages, 1):
        role, content = (message.get("role"), message.get("content")) if isinstance(message, dict) else (None, None)
        if role == "system" and number == 1 and isinstance(content, str):
            before = content + " "
            continue
        wanted = _ROLES[len(texts) % 2]
        if role != wanted:
            raise DataError(f"{place}: message {number} has the role {role!r}, and it is the turn of {wanted!r}")
        if not isinstance(content, str):
            raise DataError(f"{place}: the content of message {number} is {content!r}, no text")
        texts.append(before + content)
        before = ""
    return texts


def _said(dialogues: Sequence[Dialogue]) -> Iterator[Pair]:
    """Give what was said before each answer, and the answer."""
    for turns, place in dialogues:
        for answer in range(1, len(turns), 2):
            yield Pair(BETWEEN.join(turns[:answer]), turns[answer], place)


def _turn(each: GeneratedPair) -> int:
    return each.pair.source.count(BETWEEN) // 2 + 1


def _about(place: str, parts: Parts[Pair], seed: int, vocabulary: str) -> DatasetInfo:
    texts = (repr(pair[:2]) for part in parts for pair in part)
    if place:
        name, drawn = Path(place).name, "dialogues"
    else:
        name, drawn = "dialogue", "drawn dialogues; most depend on earlier turns"
    told = f"`{name}` holds {len(parts.train):,} answers of {drawn}, and {len(parts.test):,} others for the test."
    return DatasetInfo(name, told, fingerprint([*texts, str(seed), vocabulary]))
