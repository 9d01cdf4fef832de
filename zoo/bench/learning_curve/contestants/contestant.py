"""`Contestant`: what the name of a contestant says: a model from scratch, pretrained weights, or a probe of either.

vit-small   from scratch         vit-small.TAG, timm:NAME.TAG, local-dir:PATH, hf-hub:OWNER/NAME   fine-tuned
probe:NAME  frozen vectors of any of these, and a linear classifier
"""

import os
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from torch import nn

from zoo.bench.learning_curve.contestants.recipes import Start
from zoo.data.corpus import Corpus
from zoo.data.corpus_options import PreparesInputs
from zoo.errors import ConfigError, WeightsError
from zoo.factory import create
from zoo.names import split_prefix
from zoo.registry.lookup import registry
from zoo.spec import ModelSpec
from zoo.training.initial_model import InitialModel
from zoo.weights import hub

PROBE = "probe"
_BESIDE = ("config.json", "tokenizer.json")
"""Files beside the weights that change what is trained, too."""


@dataclass(frozen=True)
class Contestant:
    """A contestant of a study.

    Args:
        model: name, as for `zoo.create`; with a tag it stands for these weights.
        probed: whether the model is frozen, and a linear classifier trained on its vectors.
    """

    model: str
    probed: bool = False

    @classmethod
    def of(cls, name: str) -> "Contestant":
        """Read a name; of a folder with its whole path, so that it means the same from any other folder.

        Raises:
            ConfigError: If a probe is of nothing, or of a probe.
        """
        prefix, rest = split_prefix(name)
        if prefix.lower() != PROBE:
            return cls(_absolute(name))
        if not rest.strip() or split_prefix(rest)[0].lower() == PROBE:
            raise ConfigError(f"{name!r}: a probe is of a model: write probe:NAME, such as probe:vit-small.TAG")
        return cls(_absolute(rest.strip()), probed=True)

    @property
    def name(self) -> str:
        """The name in a study's configurations and results."""
        return f"{PROBE}:{self.model}" if self.probed else self.model

    @property
    def start(self) -> Start:
        """From what it is trained."""
        return "probe" if self.probed else "pretrained" if self.reference else "scratch"

    @cached_property
    def reference(self) -> str:
        """Where the weights are, `hf-hub:OWNER/NAME` or `local-dir:PATH`; empty where there are none.

        Raises:
            UnknownModelError: If there is no such model or tag.
        """
        if hub.is_repository(self.model):
            return self.model
        spec, tag = registry().find(self.model)
        return spec.weights.get(tag or spec.config.get("tag", ""), "")

    @cached_property
    def spec(self) -> ModelSpec:
        """Record of the model, with what its weights tell.

        Raises:
            UnknownModelError: If there is no such model or tag.
            WeightsError: If a repository cannot be read, or names no model.
        """
        return self._initial.spec if self.reference else create.info(self.model)

    @property
    def tokenizer(self) -> str:
        """Path of the tokenizer that comes with the weights; empty where there is none."""
        return self._initial.tokenizer if self.reference else ""

    def fingerprint(self) -> str | None:
        """Give a text that changes with the content of the weights; None where there are none.

        Raises:
            WeightsError: If they cannot be read.
        """
        if not self.reference:
            return None
        local = split_prefix(self.reference)[0].lower() != "hf-hub"
        paths = _files(self.reference) if local else _files_of_hub(self.reference)
        return _digest(*((path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths))

    def check_unchanged(self, fingerprint: str | None) -> None:
        """Refuse weights that are others than those a run was planned with.

        Raises:
            WeightsError: If they are.
        """
        if self.fingerprint() != fingerprint:
            raise WeightsError(
                f"the weights of {self.name!r} have changed since this run was planned: the same command again plans "
                "runs with those there are now"
            )

    def prepared(self, corpus: Corpus, image_size: int | None) -> Corpus:
        """Give the data prepared as the weights were trained; unchanged where there are no weights, or no choice.

        Args:
            corpus: the data.
            image_size: pixels along a side, if the user asks for a size.
        """
        if not self.reference or not isinstance(corpus, PreparesInputs):
            return corpus
        preprocess: Any = create.preprocess(self.model)
        preparation = preprocess.portable()
        size = {} if image_size is None else {"input_size": [image_size]}
        return corpus.with_preparation(preparation | size)

    def make(self, fitting: dict[str, Any], device: str | None = None) -> nn.Module:
        """Make the model, on a device without memory without its weights; a classifier is new, whatever its labels.

        Args:
            fitting: configuration that the data decide.
            device: of the parameters.

        Raises:
            ConfigError: If the weights are int8.
            WeightsError: If they do not fit.
        """
        if not self.reference or device is not None:
            return create.create(self.model, False, device=device, **fitting)
        model = self._initial.make(fitting)
        if fitting.get("num_classes"):
            model.reset_classifier(fitting["num_classes"])  # type: ignore[operator]
        return model

    @cached_property
    def _initial(self) -> InitialModel:
        return InitialModel(self.model, None, bool(self.reference), {})


def _absolute(model: str) -> str:
    prefix, place = split_prefix(model)
    local = prefix.lower().replace("_", "-") == "local-dir"
    return f"local-dir:{os.path.abspath(Path(place).expanduser())}" if local else model


def _files(reference: str) -> list[Path]:
    paths = [hub.fetch(reference, names) for names in (hub.FILES, *((each,) for each in _BESIDE))]
    if paths[0] is None:
        raise WeightsError(f"{reference!r} holds none of {', '.join(hub.FILES)}")
    return [path for path in paths if path]


_files_of_hub = lru_cache(_files)
"""The hub is asked once in a process, not at each run."""


@lru_cache(maxsize=64)
def _digest(*files: tuple[Path, int, int]) -> str:
    """Give a digest of files; they are read again where their times or sizes are others."""
    digest = blake2b(digest_size=8)
    for path, _, size in files:
        digest.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                digest.update(part)
    return digest.hexdigest()
