"""Options of a corpus that a training names: its augmentation, and a cache of decoded examples."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from zoo.data.corpus import Corpus
from zoo.errors import ConfigError

MIXUP = "mixup"
"""Name of the augmentation that mixes examples; `mixup:ALPHA` says how much."""


@runtime_checkable
class AugmentsByName(Protocol):
    """A corpus whose augmentation can be chosen."""

    def with_augmentation(self, names: str) -> Corpus:
        """Give the same data with another augmentation of the training examples.

        Args:
            names: one or several, see `augmentation_names`.

        Raises:
            ConfigError: If there is no such augmentation; the text lists those there are.
        """


@runtime_checkable
class CachesDecoded(Protocol):
    """A corpus that can keep examples in a file as they are after decoding, in the folder of `cache_folder`."""

    def with_cache(self, wanted: bool) -> Corpus:
        """Decode all examples now and keep them, or keep none."""


@runtime_checkable
class PreparesInputs(Protocol):
    """A corpus that can prepare its inputs as the weights of a model were trained, at their size."""

    def with_preparation(self, preparation: Mapping[str, Any]) -> Corpus:
        """Give the same data, prepared so.

        Args:
            preparation: what `portable()` of `zoo.preprocess(NAME)` gives.
        """


def with_options(
    corpus: Corpus, augment: str | None = None, cache: bool | None = None, mixup: float | None = None
) -> Corpus:
    """Set options of a corpus; None leaves one as it is.

    Args:
        corpus: any.
        augment: names of the augmentation of training examples.
        cache: whether all examples are decoded now, and kept.
        mixup: alpha of mixup, arXiv:1710.09412, which is added to the augmentation of data that mix their examples;
            for others the objective of the training mixes what the model answers.

    Raises:
        ConfigError: If the data have no such option.
    """
    mixes = mixup is not None and mixes_inputs(corpus)
    if augment is not None and not mixes:
        if not isinstance(corpus, AugmentsByName):
            raise ConfigError(f"augment={augment!r}: the data {corpus.name!r} leave no choice of augmentation")
        corpus = corpus.with_augmentation(augment)
    if mixes and isinstance(corpus, AugmentsByName):
        given = [name for name in re.split(r"[+,]", augment or "") if name.strip().lower() not in ("", MIXUP)]
        corpus = corpus.with_augmentation("+".join([*given, f"{MIXUP}:{mixup:g}"]))
    if cache is not None and isinstance(corpus, CachesDecoded):
        return corpus.with_cache(cache)
    if cache:
        raise ConfigError(f"cache={cache}: the data {corpus.name!r} are not decoded from files, and need no cache")
    return corpus


def mixes_inputs(corpus: Corpus) -> bool:
    """Tell whether a corpus mixes its examples itself, by the augmentation `mixup`."""
    return isinstance(corpus, AugmentsByName) and getattr(corpus, "mixes_inputs", False)


def augmentation_names(text: str, one_of: Sequence[str], any_of: Sequence[str] = ()) -> list[str]:
    """Split the names of an augmentation, with `+` or commas between, such as `crop+mixup`.

    Args:
        text: the names.
        one_of: names of which at most one is given.
        any_of: names that may be added.

    Raises:
        ConfigError: If a name is unknown or given twice, or there are two of `one_of`.
    """
    names = [name.strip().lower() for name in re.split(r"[+,]", text)]
    added = f", and any of {', '.join(any_of)}, with + between" if any_of else ""
    known = f"give one of {', '.join(one_of)}{added}"
    if unknown := [name for name in names if name not in (*one_of, *any_of)]:
        raise ConfigError(f"augment={text!r}: there is no {unknown[0]!r}; {known}")
    if len(set(names)) < len(names) or len({*names} & {*one_of}) > 1:
        raise ConfigError(f"augment={text!r}: {known}")
    return names
