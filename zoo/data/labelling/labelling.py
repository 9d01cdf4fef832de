"""`Labelling`: what the labels of a study are like, in training and validation; the test stays as it is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Int, Int64
from torch import Tensor

from zoo.core.losses.loss import IGNORED
from zoo.data.corpus import Corpus
from zoo.data.labelling.class_ratio import ClassRatio
from zoo.data.labelling.known_classes import KnowsClasses, first_of_each
from zoo.data.labelling.label_noise import noisy
from zoo.data.labelling.relabelled import Relabelled
from zoo.data.labelling.unbalanced import subset_of_classes
from zoo.data.subsets import StudyInfo, study_info, subset
from zoo.errors import ConfigError, DataError


@dataclass(frozen=True)
class Labelling:
    """Labels of training and validation.

    Args:
        ratio: of the sizes of the classes; None for those that the data have.
        noise: probability with which a label is replaced by another class.
    """

    ratio: ClassRatio | None = None
    noise: float = 0.0

    @classmethod
    def of(cls, class_ratio: str | float | Sequence[float], label_noise: float) -> "Labelling":
        """Read what a user asks for; an empty ratio is none.

        Raises:
            ConfigError: If the ratio cannot be read, or the noise is not in [0, 1).
        """
        if not 0 <= label_noise < 1:
            raise ConfigError(f"label_noise={label_noise:g}: a share of the labels is wanted, 0 or more and below 1")
        return cls(ClassRatio.parse(class_ratio) if class_ratio != "" else None, label_noise)

    @property
    def text(self) -> str:
        """Name what is not as the data have it; empty where all is."""
        ratio = f"class ratio {self.ratio}" if self.ratio else ""
        noise = f"label noise {self.noise}" if self.noise else ""
        return ", ".join(filter(None, (ratio, noise)))

    @property
    def explained(self) -> str:
        """Say the same in a sentence."""
        ratio = f"have the class ratio {self.ratio}" if self.ratio else ""
        noise = f"have each label replaced by another class with probability {self.noise}" if self.noise else ""
        both = " and ".join(filter(None, (ratio, noise)))
        return f"Training and validation {both}; the test is as it is." if both else ""

    def check(self, corpus: Corpus, data: str) -> None:
        """Check that the labels of a corpus can be so.

        Args:
            corpus: any.
            data: its name, for the errors.

        Raises:
            ConfigError: If its examples have no class each, or the ratio is one of another number of classes.
        """
        if not self.text:
            return
        classes = study_info(corpus).num_classes
        if not classes or not isinstance(corpus, KnowsClasses):
            raise ConfigError(
                f"{self.text}: the data {data!r} (task {corpus.task!r}, scored by {corpus.metric.removeprefix('-')}) "
                "do not tell one class of each example; choose data for classification, such as digits or labelled:FILE"
            )
        if len(corpus.classes_of("train")) != corpus.sizes["train"]:
            raise ConfigError(f"{self.text}: the data {data!r} are a stream or a mixture; name one source")
        if self.ratio:
            self.ratio.check(names_of_classes(corpus), data)

    def check_size(self, size: int, corpus: Corpus, data: str) -> None:
        """Check that there are enough examples of each class, and one of the rarest at least.

        Raises:
            ConfigError: If the size leaves a class without an example.
            DataError: If the data have too few examples of a class.
        """
        if self.ratio is None:
            return
        names = names_of_classes(corpus)
        counts = self.ratio.counts(len(names), size)
        if not counts.all():
            raise ConfigError(
                f"sizes: of {size:,} examples in the ratio {self.ratio} none is of class {names[counts.argmin()]!r}; "
                f"at least {self.ratio.least(len(names)):,} are needed"
            )
        available = self._available(corpus)
        if available is not None and (counts > available).any():
            short = int((counts - available).argmax())
            raise DataError(
                f"{size:,} training examples in the ratio {self.ratio} are {counts[short]:,} of class "
                f"{names[short]!r}, of which {data!r} has {available[short]:,} besides validation and test: ask for at "
                f"most {self.ratio.most(available):,} with --sizes"
            )

    def info(self, corpus: Corpus) -> StudyInfo:
        """Describe a corpus for a learning curve, with as many training examples as the ratio leaves."""
        info, available = study_info(corpus), self._available(corpus) if self.ratio else None
        return info if self.ratio is None or available is None else replace(info, limit=self.ratio.most(available))

    def least(self, info: StudyInfo) -> int:
        """Give the number of training examples from which on every class has one; 0 where no ratio asks for that."""
        return self.ratio.least(info.num_classes) if self.ratio else 0

    def subset(self, corpus: Corpus, count: int, seed: int, augment: bool = False) -> Corpus:
        """Give a corpus with fewer training examples, labelled so, and validation examples labelled so.

        Args:
            corpus: any that `check` leaves.
            count: of the training examples.
            seed: draws examples and noise; of one seed, fewer are among more, and have the same labels.
            augment: whether they are changed at random, where the corpus leaves the choice.
        """
        if not self.text:
            return subset(corpus, count, seed, augment)
        number = study_info(corpus).num_classes
        if self.ratio:
            part: Any = subset_of_classes(corpus, self.ratio.counts(number, count).tolist(), seed, augment)
        else:
            part = subset(corpus, count, seed, augment)
        clean = {"train": part.classes_of("train"), "validation": self._validation(part, seed, number)}
        given = {split: noisy(own, self.noise, (seed, at), number) for at, (split, own) in enumerate(clean.items())}
        return cast(Corpus, Relabelled(part, given))

    def _validation(self, corpus: Any, seed: int, number: int) -> Int[Tensor, " n"]:
        """Give the classes of the validation examples, of the longest draw that has the ratio; -100 for the others."""
        classes: Tensor = corpus.classes_of("validation")
        if self.ratio is None:
            return classes
        available = _counts(classes, number)
        most = self.ratio.most(np.where(available > 0, available, len(classes)))
        counts = np.minimum(np.maximum(self.ratio.counts(number, most), 1), available)
        order = torch.randperm(len(classes), generator=torch.Generator().manual_seed(seed))
        kept = order[first_of_each(classes[order], counts.tolist())]
        return torch.full_like(classes, IGNORED).index_copy(0, kept, classes[kept])

    def _available(self, corpus: Any) -> Int64[np.ndarray, " k"] | None:
        """Count the training examples of each class; None where there are as many as asked for."""
        info = study_info(corpus)
        return None if info.limit is None else _counts(corpus.classes_of("train"), info.num_classes)


def names_of_classes(corpus: Corpus) -> list[str]:
    """Name the classes of a corpus; by numbers where they have no names."""
    named: list[str] = list(getattr(corpus, "labels", ()))
    return named or [str(number) for number in range(study_info(corpus).num_classes)]


def _counts(classes: Int[Tensor, " n"], number: int) -> Int64[np.ndarray, " k"]:
    return torch.bincount(classes[classes >= 0].long(), minlength=number).numpy()
