"""What the test of a run tells: its score, and of an accuracy which answers are right, of which classes, how sure."""

import base64
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from zoo.core.losses.loss import IGNORED
from zoo.data.batches.batched_corpus import to_device
from zoo.data.corpus import Corpus


class Answers(NamedTuple):
    """Answers to test examples: whether each is right, its true class, and the mean loss of all, in nats."""

    right: Bool[Tensor, " n"]
    classes: Int[Tensor, " n"]
    log_loss: float


def judged(corpus: Corpus, model: nn.Module, batch_size: int) -> dict[str, Any]:
    """Give the score of a model in evaluation on the test examples; of a classification, also what `Answers` hold."""
    if corpus.metric != "accuracy":
        return {"score": corpus.score(model, "test", batch_size)[corpus.metric], "metric": corpus.metric}
    found = answers(corpus, model, "test", batch_size)
    right = found.right.numpy()
    scores = {"accuracy": float(right.mean()), "correct": pack(right)}
    if corpus.task not in ("classify", "tag"):  # a vocabulary is no set of classes
        return scores
    return scores | {"classes": pack_classes(found.classes.numpy()), "log_loss": round(found.log_loss, 6)}


def answers(corpus: Corpus, model: nn.Module, split: str, batch_size: int) -> Answers:
    """Give the answers of a model in evaluation to what is asked in a split, where the metric is accuracy."""
    device = next(model.parameters()).device
    right, classes, loss = [], [], 0.0
    for batch in corpus.held_out(split, batch_size):
        inputs, target = to_device(batch, device)
        answer = model(*inputs)
        asked = target != IGNORED
        right.append((answer.argmax(-1) == target)[asked].cpu())
        classes.append(target[asked].cpu())
        loss += float(nn.functional.cross_entropy(answer[asked].float(), target[asked], reduction="sum"))
    counted = torch.cat(classes)
    return Answers(torch.cat(right), counted, loss / len(counted))


def pack(correct: NDArray[np.bool_]) -> dict[str, Any]:
    """Write one bit for each test example."""
    return {"count": len(correct), "bits": base64.b64encode(np.packbits(correct).tobytes()).decode()}


def unpack(packed: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Read what `pack` wrote."""
    bits = np.frombuffer(base64.b64decode(packed["bits"]), np.uint8)
    return np.unpackbits(bits, count=packed["count"]).astype(bool)


def pack_classes(classes: NDArray[np.integer[Any]]) -> str:
    """Write the class of each test example: 32 bits each, compressed."""
    return base64.b64encode(zlib.compress(classes.astype("<u4").tobytes(), 9)).decode()


def unpack_classes(packed: str) -> NDArray[np.int64]:
    """Read what `pack_classes` wrote."""
    return np.frombuffer(zlib.decompress(base64.b64decode(packed)), "<u4").astype(np.int64)
