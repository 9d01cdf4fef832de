"""`Postprocess`: from the outputs of text models to texts and labels."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from zoo import InputError
from zoo.data import labels_of, names_for, ranked
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.text.io.preprocess import frame_of, tokenizer_of


class Postprocess:
    """Turn a model's output into labels or text.

    Args:
        config: of the model; `repository` says where its tokenizer.json and labels.json lie.

    Raises:
        ConfigError: If the tokenizer's vocabulary, or the number of labels, is not the model's.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = dict(config)
        self.labels = labels_of(config)
        self.task = config.get("task")
        vectors = self.task == "features" or (self.task != "masked-token" and config.get("num_classes") == 0)
        if not vectors and ("repository" in config or "default" not in config):
            self.tokenizer  # noqa: B018  a vocabulary that does not fit is refused at once

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the model's weights."""
        return tokenizer_of(self.config)

    def __call__(
        self,
        answer: Any,
        texts: str | Sequence[str] | None = None,
        valid: Tensor | None = None,
        *,
        there: Tensor | None = None,
    ) -> list[str] | list[dict[str, float]] | list[list[str]]:
        """Give texts for what was generated, labels with probabilities for sets, labels for words or tokens.

        Args:
            answer: what `generate` gave, rows of ids, or scores (batch, labels) or (batch, tokens, labels).
            texts: what was given to `preprocess`: each of its words gets a label. Without, each token does.
            valid: which tokens are no padding, for labels of tokens: lengths (batch,) or a mask (batch, tokens).
            there: the name of `valid` before.

        Raises:
            InputError: If the answer is none of these or empty, or there are not as many texts.
        """
        if hasattr(answer, "best"):
            return self.tokenizer.decode_batch(answer.best())
        if isinstance(answer, list) or not answer.is_floating_point():
            return self.tokenizer.decode_batch([self.tokenizer.until_end(row) for row in answer])
        if not answer.numel():
            raise InputError(f"an answer of shape {tuple(answer.shape)}: it holds no scores")
        texts = [texts] if isinstance(texts, str) else texts
        if texts is not None and len(texts) != len(answer):
            raise InputError(f"{len(texts)} texts for an answer of {len(answer)} rows: give those it answers")
        if answer.ndim == 2:
            names = names_for(self.labels, answer.shape[1], self.config)
            scores = answer.float()
            return [
                ranked(row, names) for row in (scores.sigmoid() if self.task == "multi-label" else scores.softmax(-1))
            ]
        if answer.ndim != 3:
            raise InputError(f"an answer of shape {tuple(answer.shape)} is neither one of labels nor of ids")
        if self.task == "masked-token":
            return self._filled(answer, texts)
        return self._tags(answer, texts, there if valid is None else valid)

    def _tags(self, scores: Tensor, texts: Sequence[str] | None, valid: Tensor | None) -> list[list[str]]:
        """Read the labels at the first token of each word, or at every token that is there."""
        names, classes = names_for(self.labels, scores.shape[2], self.config), scores.argmax(-1)
        if texts is not None:
            frame = frame_of(self.tokenizer, "encoder")
            read = self.tokenizer.word_rows(texts, frame, classes.shape[1], truncate=True)
            return [[names[row[place]] for place in places] for row, (_, places) in zip(classes, read, strict=True)]
        mask = torch.ones_like(classes, dtype=torch.bool)
        if valid is not None:
            place = torch.arange(classes.shape[1], device=valid.device)
            mask = (valid if valid.dtype == torch.bool else place < valid[:, None]).to(classes.device)
        return [[names[place] for place in row[kept]] for row, kept in zip(classes, mask, strict=True)]

    def candidates(self, scores: Tensor, texts: Sequence[str], top: int) -> list[list[list[tuple[str, float]]]]:
        """Give, for each mask of each text, its most probable tokens with their probabilities.

        Args:
            scores: (batch, tokens, vocabulary).
            texts: with their masks.
            top: tokens of each mask.
        """
        rows = self.tokenizer.rows(texts, frame_of(self.tokenizer, "encoder"), scores.shape[1], truncate=True)
        chances = scores[..., : self.tokenizer.vocab_size]
        found = []
        for row, each in zip(rows, chances, strict=False):
            places = [place for place, token in enumerate(row) if token == self.tokenizer.mask]
            most = each[places].float().softmax(-1).topk(min(top, each.shape[-1]))
            pairs = zip(most.indices.tolist(), most.values.tolist(), strict=True)
            found.append([list(zip(self.tokenizer.names(ids), shares, strict=True)) for ids, shares in pairs])
        return found

    def _filled(self, scores: Tensor, texts: Sequence[str] | None) -> list[str]:
        """Put the best token in the place of each mask."""
        if texts is None:
            raise InputError("the texts with their masks are needed too: postprocess(answer, texts)")
        rows = self.tokenizer.rows(texts, frame_of(self.tokenizer, "encoder"), scores.shape[1], truncate=True)
        best = scores[..., : self.tokenizer.vocab_size].argmax(-1).tolist()
        mask = self.tokenizer.mask
        return self.tokenizer.decode_batch(
            [[best[i][j] if token == mask else token for j, token in enumerate(row)] for i, row in enumerate(rows)]
        )
