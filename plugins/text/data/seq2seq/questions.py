"""The source `questions`: question answering as sequence to sequence, from a question and a passage to the answer."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from torch import nn

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, Written, fingerprint, parse
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.shared.text.metrics import normalised, token_f1
from zoo.plugins.text.data.file_readers import read_table
from zoo.plugins.text.data.open_files import read_examples
from zoo.plugins.text.data.parallel_corpus import GeneratedPair, Pair
from zoo.plugins.text.data.seq2seq.references import ReferencesCorpus
from zoo.plugins.text.data.synthetic.passages import draw_questions
from zoo.plugins.text.data.synthetic.tasks import in_parts
from zoo.plugins.text.data.text_files import ending, lines

SIZES = (20_000, 300, 1000)
"""Passages of training, validation and test that are drawn, with a question each."""
QUESTION = " question: "
NO_ANSWER = "no answer"
"""Is to be written where SQuAD 2.0 has no answer (arXiv:1806.03822)."""
_COLUMNS = ("question", "context", "answer")


class QuestionsCorpus(ReferencesCorpus):
    """Serve questions with passages and the answers, scored by exact match and token F1 as SQuAD (arXiv:1606.05250).

    Both compare without case, punctuation and articles; of several answers the nearest counts.
    """

    def written(self, model: Any, split: str, batch_size: int) -> Iterator[Written]:
        """See `WritesTexts.written`: texts and answers as SQuAD compares them, see `normalised`."""
        for each in super().written(model, split, batch_size):
            wanted = tuple(dict.fromkeys(map(normalised, each.wanted)))
            yield each._replace(text=normalised(each.text), wanted=wanted)

    def metrics_of(self, written: Sequence[GeneratedPair]) -> dict[str, float]:
        """Give exact match and the mean F1 of words."""
        once = self.each_once(written)
        exact = [any(normalised(each.text) == normalised(one) for one in self._answers(each)) for each in once]
        f1 = [max(token_f1(each.text, one) for one in self._answers(each)) for each in once]
        return {"exact match": sum(exact) / len(once), "F1": sum(f1) / len(once)}

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return ("exact match", "F1", *super().metrics(model)[1:])

    def _answers(self, each: GeneratedPair) -> list[str]:
        return self.references[each.pair.source]


def open_questions(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> QuestionsCorpus:
    """Open made passages with questions, or a file: SQuAD's JSON, or a table of question, context and answer.

    A model reads `context: … question: …`; arXiv:1910.10683 appendix D.15 has the question first, which a recurrent
    encoder has forgotten where it ends. All questions about a passage are in one part.

    Raises:
        DataError: If a file cannot be read.
    """
    place, options = parse(argument, _COLUMNS)
    if not place:
        drawn = draw_questions(sum(SIZES), seed)
        pairs = [Pair(asked(each.question, each.context), each.answer, "a made passage") for each in drawn]
        parts = in_parts(pairs, SIZES, seed)
        chosen = choose_tokenizer(tokenizer, "bpe:1000", chain.from_iterable(pair[:2] for pair in parts.train))
        told = f"`questions` are {len(parts.train):,} about made passages, and {len(parts.test):,} others for the test."
        texts = (repr(pair[:2]) for part in parts for pair in part)
        about = DatasetInfo("questions", told, fingerprint([*texts, chosen.content]))
        return QuestionsCorpus(about, spec, chosen, parts)

    def read(paths: Sequence[Path]) -> Iterator[Pair]:
        for path in paths:
            yield from read_squad(path) if ending(path) == ".json" else _read_rows(path, options)

    data = read_examples("questions", place, options, read, lambda pair: pair.source.partition(QUESTION)[0], seed)
    chosen = data.tokenizer(tokenizer, lambda pair: pair[:2])
    return QuestionsCorpus(data.about("questions with passages and answers", chosen), spec, chosen, data.parts)


def asked(question: str, context: str) -> str:
    """Give what a model reads of a question about a passage; what is asked stands last, as that of a conversation."""
    return f"context: {' '.join(context.split())}{QUESTION}{' '.join(question.split())}"


def read_squad(path: Path) -> Iterator[Pair]:
    """Read SQuAD 1.1 or 2.0: a pair for each different answer of a question.

    Raises:
        DataError: If it is no such file.
    """
    try:
        articles = json.loads("\n".join(line for _, line in lines(path)))["data"]
        for article in articles:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    yield from _answered(question, paragraph["context"], path)
    except ValueError as error:
        raise DataError(f"{path}: no JSON: {error}") from error
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path} is not in the form of SQuAD, data > paragraphs > context and qas > question and answers > text: "
            f"{error} is missing; a table has columns {', '.join(_COLUMNS)}"
        ) from error


def _answered(question: Mapping[str, Any], context: str, path: Path) -> Iterator[Pair]:
    answers = dict.fromkeys(" ".join(answer["text"].split()) for answer in question["answers"])
    for answer in answers or [NO_ANSWER]:
        yield Pair(asked(question["question"], context), answer, f"{path}: {question.get('id', question['question'])}")


def _read_rows(path: Path, options: Mapping[str, str]) -> Iterator[Pair]:
    for row in read_table(path, _COLUMNS, options):
        for column, text in zip(_COLUMNS, row.values, strict=True):
            if not text.strip():
                raise DataError(f"{row.place}: the {column} is empty")
        question, context, answer = row.values
        yield Pair(asked(question, context), " ".join(answer.split()), row.place)
