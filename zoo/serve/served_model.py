"""`ServedModel`: answers a batch of raw inputs as JSON values, and tells which of them cannot be read."""

import inspect
import struct
from collections.abc import Generator, Hashable
from typing import Any

import torch
from pydantic import BaseModel
from torch import nn

from zoo.answers import as_json
from zoo.errors import ConfigError, ZooError
from zoo.pipeline import Pipeline
from zoo.serve.limits import Limits
from zoo.serve.raw_inputs import Upload
from zoo.serve.refusal import Refusal
from zoo.serve.request_body import FeatureOptions, LabelOptions, WritingOptions, checked

Options = tuple[str, tuple[tuple[str, Any], ...]]
"""What is asked for, `answers`, `stream` or `features`, and the options in order: what is equal shares a batch."""
UNREADABLE = (ValueError, EOFError, LookupError, ArithmeticError, SyntaxError, OSError, struct.error)
"""What decoders raise of broken bytes, beside the library's own errors."""


class ServedModel:
    """A pipeline that is loaded and asked batch by batch.

    Published weights without labels fill masks where they have learned to, and give the feature vectors of the model
    without a head; the two share their weights.

    Args:
        pipeline: of the model.
        limits: on new tokens.

    Raises:
        ConfigError: If the model has neither labels, nor masks, nor writes tokens, nor feature vectors.
    """

    def __init__(self, pipeline: Pipeline, limits: Limits) -> None:
        self.features_of, self.limits = pipeline, limits
        self.pipeline = pipeline = pipeline.answering()
        self.task = pipeline.spec.task
        model = pipeline.model
        if self.features_of is not pipeline:
            _share(model, self.features_of.model)
        if self.task == "generate" and not hasattr(model, "symbols"):
            raise ConfigError(f"{pipeline.name!r} writes no tokens, but {type(model).__name__}'s own kind of answer")
        self.reads_files = pipeline.reads_files
        self.only_texts = pipeline.reads_texts
        if self.answers_by is not None:
            pipeline.postprocess  # noqa: B018  labels that do not fit are refused before a request comes
        elif not hasattr(model, "pooled_features"):
            pipeline.check_predicts()

    @property
    def answers_by(self) -> type[BaseModel] | None:
        """The options of a request to answer; None where the model has feature vectors only."""
        if self.task == "generate":
            return WritingOptions
        try:
            self.pipeline.check_predicts()
        except ConfigError:
            return None
        return LabelOptions

    def options(self, wanted: str, given: dict[str, Any]) -> Options:
        """Check the options of a request.

        Args:
            wanted: `answers`, `stream` or `features`.
            given: options by name.

        Raises:
            Refusal: If one is unknown to the model, or its value is none.
        """
        kind = self.answers_by
        if wanted == "answers" and kind is None:
            raise Refusal(422, "the model has no labels: ask for /features")
        if wanted == "stream" and not (self.task == "generate" and hasattr(self.pipeline.model, "generate_steps")):
            raise Refusal(422, "the model does not write token by token: ask for /predict")
        found = checked(kind if wanted != "features" and kind else FeatureOptions, given)
        if wanted != "features" and self.task == "generate":
            found = self._writing(found, "generate_steps" if wanted == "stream" else "generate")
        return wanted, tuple(sorted(found.items()))

    def _writing(self, given: dict[str, Any], method: str) -> dict[str, Any]:
        known = inspect.signature(getattr(self.pipeline.model, method)).parameters
        whole = inspect.signature(self.pipeline.model.generate).parameters
        for name in sorted(given.keys() - known.keys()):
            why = f"'{self.pipeline.spec.name}' has no such option"
            if name in whole:
                why = f"/stream writes one answer, token by token; leave {name} out, or ask /predict, which has it"
            raise Refusal(422, f"{name}={given[name]!r}: {why}")
        if given.get("max_len") is None:
            usual = self.pipeline.default_max_len or self.pipeline.model.max_len
            given["max_len"] = min(usual, self.limits.max_new)
        if given["max_len"] > self.limits.max_new:
            raise Refusal(422, f"max_len={given['max_len']} is more than {self.limits.max_new} new tokens")
        return given

    def check_tokens(self, count: int, options: Options) -> None:
        """Check that inputs, beam and new tokens of a request are not too many together.

        Raises:
            Refusal: If they are.
        """
        beam, length = self._written(options)
        if count * beam * length > self.limits.max_tokens:
            text = f"inputs x beam x new tokens, {count} x {beam} x {length}, are {count * beam * length:,}"
            raise Refusal(
                413, f"{text}, more than {self.limits.max_tokens:,}: send fewer inputs, or a smaller max_len or beam"
            )

    def together(self, options: Hashable) -> int:
        """Give how many inputs with these options are computed together at most."""
        beam, length = self._written(options)
        return max(1, min(self.limits.max_batch, self.limits.max_tokens // max(1, beam * length)))

    def _written(self, options: Any) -> tuple[int, int]:
        """Give the answers that are followed at once for an input, and the new tokens of each; 0 without any."""
        wanted, given = options[0], dict(options[1])
        if wanted == "features" or self.task != "generate":
            return 1, 0
        if wanted == "stream":
            return 1, given["max_len"]
        known = inspect.signature(self.pipeline.model.generate).parameters
        usual = known["beam"].default if "beam" in known else 1
        return max(given.get("beam", usual), given.get("n_best", 1)), given["max_len"]

    def steps(self, raw: Any, options: Options) -> Generator[str, None, None]:
        """Yield the answer to an input piece by piece.

        Raises:
            Refusal: If the input cannot be read.
        """
        try:
            yield from self.pipeline.stream(raw, **dict(options[1]))
        except ZooError as error:
            raise _refusal(error, raw) from error
        except UNREADABLE as error:
            raise self._fault(raw) or error from error

    def answer(self, inputs: list[Any], options: Hashable) -> list[Any]:
        """Give an answer for each input: a `Refusal` where it cannot be read, the error where the model fails on it."""
        assert isinstance(options, tuple)
        try:
            return self._together(inputs, *options)
        except Exception as error:
            if len(inputs) == 1:
                return [_refusal(error, inputs[0]) if isinstance(error, ZooError) else self._fault(inputs[0]) or error]
        found = [self._fault(each) for each in inputs]
        good = [each for each, fault in zip(inputs, found, strict=True) if fault is None]
        if len(good) == len(inputs):  # they do not fit together
            return [answer for each in inputs for answer in self.answer([each], options)]
        answers = iter(self.answer(good, options) if good else ())
        return [next(answers) if fault is None else fault for fault in found]

    def _fault(self, raw: Any) -> Exception | None:
        """Prepare an input alone; give the refusal of what cannot be read, or the error that was not foreseen."""
        try:
            self.pipeline.inputs(_rewound([raw]))
        except ZooError as error:
            return _refusal(error, raw)
        except UNREADABLE as error:
            return Refusal(422, f"{str(raw)[:80]!r} cannot be read: {type(error).__name__}: {error}")
        except Exception as error:
            return error
        return None

    def _together(self, inputs: list[Any], wanted: str, given: tuple[tuple[str, Any], ...]) -> list[Any]:
        options, inputs = dict(given), _rewound(inputs)
        if wanted == "features":
            return [{"features": row.tolist()} for row in self.features_of.vectors(self.pipeline.inputs(inputs))]
        if self.task != "generate":
            top = None if self.pipeline.answers_numbers else options.get("top")  # of numbers none is left out
            return [as_json(answer, top) for answer in self.pipeline.answers(inputs, top)]
        found = self.pipeline.generate(inputs, **options)
        return [{"answers": [{"text": text, "score": score} for text, score in answers]} for _, answers in found]


def _share(model: nn.Module, other: nn.Module) -> None:
    """Let the other model have this one's parameters where both have the same, so that they take the room of one."""
    own = dict(model.named_parameters())
    for name, parameter in [*other.named_parameters()]:
        if name in own and torch.equal(own[name], parameter):
            part, _, leaf = name.rpartition(".")
            setattr(other.get_submodule(part), leaf, own[name])


def _refusal(error: ZooError, raw: Any) -> Refusal:
    """Refuse with an error's text; an upload whose decoder names no file, as of one that is truncated, is named."""
    unnamed = isinstance(raw, Upload) and isinstance(error.__cause__, OSError) and str(raw) not in str(error)
    return Refusal(422, f"{str(raw)[:80]!r} cannot be read: {error.__cause__}" if unnamed else str(error))


def _rewound(inputs: list[Any]) -> list[Any]:
    """Set uploads to their beginning, where a decoder that failed left them elsewhere."""
    for each in inputs:
        if isinstance(each, Upload):
            each.seek(0)
    return inputs
