"""Answers of a model to a split of a corpus, collected for the judge of their kind.

Axes: b examples, n vectors of one, r answers, k labels.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from zoo.core import has_own_loss
from zoo.core.losses.loss import IGNORED
from zoo.data.batches.batched_corpus import evaluation_mode, to_device
from zoo.data.corpus import Batch
from zoo.data.items import WritesTexts
from zoo.data.progress import shown
from zoo.errors import DataError
from zoo.evaluation.judge import Answers, Item, Judge
from zoo.evaluation.subject import LABELLED, Subject
from zoo.evaluation.tasks.classes import ClassJudge
from zoo.evaluation.tasks.entities import EntityJudge, marks_entities
from zoo.evaluation.tasks.numbers import NumbersJudge
from zoo.evaluation.tasks.several_labels import LabelsJudge
from zoo.evaluation.tasks.tokens import TokenJudge, TokenSums
from zoo.evaluation.tasks.written import Both, TranscriptJudge, TranslationJudge


def judged(subject: Subject, corpus: Any, splits: Sequence[str], batch_size: int) -> Judge | None:
    """Let a model answer, and give what judges its answers; None where the data alone can judge.

    Args:
        subject: what is judged.
        corpus: the data.
        splits: of them.
        batch_size: examples that are answered together.

    Raises:
        DataError: If the run lacks labels of the data, or nothing can be read.
    """
    order = subject.order_of(corpus)
    model = subject.model
    if corpus.task in LABELLED:
        answers = _answers(subject, corpus, splits, batch_size, order)
        names = subject.labels or tuple(getattr(corpus, "labels", ()))
        labels = list(names) or [str(place) for place in range(answers.values.shape[-1])]
        if subject.target == "labels":
            return LabelsJudge(answers, [labels[place] for place in order] or labels)
        if subject.target == "numbers":
            return NumbersJudge(answers, [labels[place] for place in order] or labels)
        if corpus.task == "tag" and marks_entities(labels):
            return EntityJudge(answers, labels)
        return ClassJudge(answers, labels)
    if isinstance(corpus, WritesTexts):
        written = _written(model, corpus, splits, batch_size)
        return written if has_own_loss(model) or not corpus.units else Both(
            written, _tokens(model, corpus, splits, batch_size)
        )  # fmt: skip
    return _tokens(model, corpus, splits, batch_size) if corpus.metric.endswith("perplexity") else None


def placed(corpus: Any, split: str, batch_size: int) -> Iterator[tuple[Sequence[int], Batch]]:
    """Give the batches of a split, with the indices of their examples where the corpus tells them, else counted."""
    if hasattr(corpus, "placed"):
        yield from corpus.placed(split, batch_size)
        return
    count = 0
    for batch in corpus.held_out(split, batch_size):
        yield range(count, count + len(batch.target)), batch
        count += len(batch.target)


def _batches(
    model: Any, corpus: Any, splits: Sequence[str], batch_size: int, what: str
) -> Iterator[tuple[str, Sequence[int], Batch, Tensor]]:
    """Give batches on the model's device, each with the model's answer."""
    total = sum(math.ceil(corpus.sizes[split] / batch_size) for split in splits)
    batches = ((split, *each) for split in splits for each in placed(corpus, split, batch_size))
    with evaluation_mode(model) as device:
        dtype = next(model.parameters()).dtype
        for split, places, batch in shown(batches, total, what):
            batch = to_device(batch, device)
            inputs = tuple(x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x for x in batch.inputs)
            yield split, places, batch, model(*inputs).float()


def _answers(subject: Subject, corpus: Any, splits: Sequence[str], batch_size: int, order: Sequence[int]) -> Answers:
    """Collect scores of labels; those of padding and of what has no target are left out."""
    items: list[Item] = []
    owners, values, targets = [], [], []
    flat = False
    batch_of = getattr(subject.hook("postprocess"), "batch_of", None)
    for split, places, batch, answer in _batches(subject.model, corpus, splits, batch_size, "answers"):
        flat = answer.ndim == 2
        owner = _owners(places, batch, answer, batch_of) + len(items)
        target = batch.target.reshape(-1) if batch.target.ndim == answer.ndim - 1 else batch.target
        scores = answer.reshape(-1, answer.shape[-1])
        known = (~target.isnan().flatten(1).all(1) if target.is_floating_point() else target != IGNORED).cpu()
        items += [Item(split, place) for place in places]
        owners.append(owner[known])
        values.append(scores.cpu()[known])
        targets.append(target.cpu()[known].clone())
    if not items or not sum(map(len, owners)):
        raise DataError(f"{corpus.name}: {' and '.join(splits)} have no example with a label that can be read")
    answers = Answers(
        items, torch.cat(owners).numpy(), _read(torch.cat(values), subject.target), torch.cat(targets).numpy()
    )
    found = _known(_ordered(answers, subject.target, order))
    return _by_vector(found) if flat else found


def _owners(places: Sequence[int], batch: Batch, answer: Tensor, batch_of: Any) -> Tensor:
    """Give the example of each answer, by its number in the batch."""
    if answer.ndim == 3:
        return torch.arange(len(answer)).repeat_interleave(answer.shape[1])
    if len(answer) == len(places):
        return torch.arange(len(answer))
    of = batch_of(*batch.inputs) if batch_of and len(places) > 1 else None
    return torch.zeros(len(answer), dtype=torch.long) if of is None else of.cpu().long()


def _read(scores: Tensor, target: str) -> Any:
    """Turn scores into probabilities; numbers are taken as they are."""
    if target == "numbers":
        return scores.double().numpy()
    return (scores.double().sigmoid() if target == "labels" else scores.double().softmax(-1)).numpy()


def _ordered(answers: Answers, target: str, order: Sequence[int]) -> Answers:
    """Bring targets, or the columns of several labels and of numbers, into one order with the answers."""
    if not order:
        return answers
    if target == "class":
        return answers._replace(targets=np.array(order)[answers.targets])
    return answers._replace(values=answers.values[:, order])


def _known(answers: Answers) -> Answers:
    """Leave out the items without an answer that can be judged, such as pictures that cannot be read."""
    counts = np.bincount(answers.owner, minlength=len(answers.items))
    if counts.all():
        return answers
    number = counts.astype(bool).cumsum() - 1
    items = [item for item, count in zip(answers.items, counts, strict=True) if count]
    return answers._replace(items=items, owner=number[answers.owner])


def _by_vector(answers: Answers) -> Answers:
    """Let each vector of a set that is the only example, the nodes of one graph, be an item of its own."""
    if len(answers.items) > 1:
        return answers
    items = [answers.items[0]] * len(answers.owner)
    return answers._replace(items=items, owner=np.arange(len(items)))


def _written(model: Any, corpus: WritesTexts, splits: Sequence[str], batch_size: int) -> Any:
    """Let a model write, and judge the texts."""
    items, texts = [], []
    sizes: Any = getattr(corpus, "sizes", {})
    every = ((split, each) for split in splits for each in corpus.written(model, split, batch_size))
    for split, each in shown(every, sum(sizes[split] for split in splits), "writing"):
        items.append(Item(split, each.place))
        texts.append(each)
    if not items:
        raise DataError(f"nothing of {' and '.join(splits)} can be read")
    return TranslationJudge(items, texts, corpus.units) if corpus.units else TranscriptJudge(items, texts)


def _tokens(model: Any, corpus: Any, splits: Sequence[str], batch_size: int) -> TokenJudge:
    """Sum the cross-entropies of the tokens of each example."""
    items, sums = [], []
    whole = corpus.task == "generate"
    for split, places, batch, answer in _batches(model, corpus, splits, batch_size, "tokens"):
        loss = cross_entropy(answer.transpose(1, 2), batch.target, ignore_index=IGNORED, reduction="none")
        known = batch.target != IGNORED
        right = (answer.argmax(-1) == batch.target) & known
        numbers = torch.stack([loss.double().sum(1), right.sum(1).double(), known.sum(1).double()], 1).tolist()
        for place, row, target in zip(places, numbers, batch.target.cpu(), strict=True):
            items.append(Item(split, place))
            sums.append(TokenSums(row[0], int(row[1]), int(row[2]), _characters(corpus, target) if whole else 0))
    return TokenJudge(items, sums)


def _characters(corpus: Any, target: Tensor) -> int:
    tokenizer = getattr(corpus, "tokenizer", None)
    return 0 if tokenizer is None else len(tokenizer.decode(target[target != IGNORED]))
