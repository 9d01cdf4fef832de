"""One run of the data-size study: a pure function of its configuration and its number of threads."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import nn

from zoo.bench.learning_curve.contestants.contestant import Contestant
from zoo.bench.learning_curve.contestants.probe import Probe, VectorBatches, probe_for
from zoo.bench.learning_curve.training.tested import judged
from zoo.core.flops import count
from zoo.data.batches.batched_corpus import BatchedCorpus
from zoo.data.corpus import Batch, Corpus, find_source, open_corpus
from zoo.data.labelling.labelling import Labelling
from zoo.data.subsets import study_info
from zoo.training.criterion import FirstOfEqual, criterion_for
from zoo.training.initial_model import channels_last
from zoo.training.loop import Objective, Outcome, Plan, fit
from zoo.training.losses.objectives import TeacherForcing
from zoo.training.optimization.optimizers import optimizers_for, trapezoid

SPLIT_SEED = 0
"""Splits data that exist."""
DRAWN_SEED = 20_261_123
"""Draws the examples of sources that are `drawn`, those of the test too. Trainings of other commands draw by a seed of
their own, 0 where nobody gives one, and pilot runs are not tested: no setting was chosen with a look at these."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """Hold all that decides the outcome of one training."""

    model: str
    data: str
    fingerprint: str
    image_size: int | None
    """Pixels along a side; None for data that are no images."""
    size: int
    seed: int
    steps: int
    batch_size: int
    optimizer: str
    learning_rate: float
    weight_decay: float
    warmup: float
    augment: bool | None
    """None where the data leave no choice."""
    precision: str
    device: str
    ties: str = "first"
    """Which of the checkpoints of equal metric is tested: by `smooth` scores, see `Criterion`, or the `first`."""
    pilot: bool = False
    """Whether it is there to choose a setting: on validation, no test example is read."""
    class_ratio: str = ""
    """Of training and validation examples, see `ClassRatio`; empty for that of the data."""
    label_noise: float = 0.0
    """Probability with which their labels are replaced."""
    weights: str | None = None
    """Digest of the pretrained weights; None where there are none."""

    def to_dict(self) -> dict[str, Any]:
        """Give the configuration as JSON values; without what a run has as those had it that knew no such setting."""
        former = {"ties": "first", "pilot": False, "class_ratio": "", "label_noise": 0.0, "weights": None}
        return {key: value for key, value in asdict(self).items() if former.get(key, ...) != value}


def execute(config: dict[str, Any]) -> dict[str, Any]:
    """Train one model on one subset and test its best checkpoint, that of a pilot not; JSON in, JSON out."""
    training = Training(Run(**config))
    return training.result(training.fit(TeacherForcing(training.part)))


class Training:
    """Make the parts of a run: data, model, batches.

    Args:
        run: says which.
    """

    def __init__(self, run: Run) -> None:
        torch.set_flush_denormal(True)  # of this thread; dying activations cost ten times as much otherwise
        logging.getLogger("lightning_fabric").setLevel(logging.ERROR)  # announces bf16 at every run
        self.run = run
        self.fabric = Fabric(accelerator=run.device, devices=1, precision=run.precision)  # type: ignore[arg-type]
        Contestant.of(run.model).check_unchanged(run.weights)
        self.corpus = _corpora(run.data, run.image_size).of(run.model)
        self.eval_batch_size = study_info(self.corpus).batch_size or run.batch_size
        torch.manual_seed(run.seed)
        self.model = build(run.model, self.corpus)
        labelling = Labelling.of(run.class_ratio, run.label_noise)
        self.part = labelling.subset(self.corpus, run.size, run.seed, bool(run.augment))
        self.trained, self.batches, self.whole = _parts(self.model, self.part, run, self.fabric)

    def fit(self, objective: Objective) -> Outcome:
        """Train, and load the best checkpoint."""
        run = self.run
        criterion = criterion_for(self.corpus) if run.ties == "smooth" else FirstOfEqual()
        return fit(
            self.trained,
            objective,
            self.batches,
            optimizers_for(run.optimizer, self.trained, run.learning_rate, run.weight_decay),
            plan=Plan(steps=run.steps, schedule=trapezoid(run.steps, run.warmup), criterion=criterion),
            fabric=self.fabric,
            validate=lambda fitted: _scores(
                self.part, self.whole(fitted), "validation", self.eval_batch_size, self.fabric
            ),
        )

    def result(self, outcome: Outcome) -> dict[str, Any]:
        """Test the model, and tell all that is stored."""
        run, model = self.run, self.model.eval()
        tested = {"metric": self.corpus.metric}
        if not run.pilot:
            tested = _tested(self.corpus, model, self.eval_batch_size, self.fabric)
        multiply_adds = _multiply_adds(self.corpus, model)
        return {
            **tested,
            "validation": outcome.best_score,
            "validation_scores": outcome.deciding,
            "best_step": outcome.best_step,
            "history": [[step, round(loss, 4), round(score, 4)] for step, loss, score, _ in outcome.history],
            "seconds": round(outcome.seconds, 3),
            "examples_per_second": round(run.steps * min(run.batch_size, run.size) / outcome.seconds, 1),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "multiply_adds": multiply_adds,
            **({"training_multiply_adds": multiply_adds * _forwards(run)} if isinstance(model, Probe) else {}),
            "device": str(self.fabric.device),
            "precision": run.precision,
            "threads": torch.get_num_threads(),
        }


class Corpora:
    """The data as each model of a study reads them; opened once for all where they are the same for all.

    Pretrained weights have their tokenizer, and images of the size and the normalisation that they were trained with.

    Args:
        data: source or path, as for `zoo train --data`.
        image_size: pixels along a side of images; None for the source's own size. Other data are not asked for one.
    """

    def __init__(self, data: str, image_size: int | None = None) -> None:
        self.data, self.image_size = data, image_size
        self.opened: dict[str, Corpus] = {}

    def of(self, name: str) -> Corpus:
        """Give the corpus of a contestant."""
        if name not in self.opened:
            contestant = Contestant.of(name)
            self.opened[name] = self._shared(contestant) or self._open(contestant)
        return self.opened[name]

    def _shared(self, contestant: Contestant) -> Corpus | None:
        """Give what is open for another that reads the same: for the same model, or for all without weights."""
        for name, corpus in self.opened.items():
            other = Contestant.of(name)
            scratch = not other.reference and not contestant.reference
            if other.model == contestant.model or (scratch and study_info(corpus).shared):
                return corpus
        return None

    def _open(self, contestant: Contestant) -> Corpus:
        spec = contestant.spec
        if self.image_size is not None or "image_size" in spec.config:  # None asks for the images' own size
            spec = spec.with_config(image_size=self.image_size)
        source, _ = find_source(self.data, spec)
        seed = DRAWN_SEED if source.drawn else SPLIT_SEED
        return contestant.prepared(open_corpus(self.data, spec, seed, contestant.tokenizer), self.image_size)


@lru_cache(maxsize=4)
def _corpora(data: str, image_size: int | None) -> Corpora:
    return Corpora(data, image_size)


def build(name: str, corpus: Corpus, device: str | None = None, **options: Any) -> nn.Module:
    """Make a contestant that fits the data, a CNN with its images channels-last.

    Args:
        name: of the contestant.
        corpus: the data.
        device: of the parameters; where one is given, pretrained weights are not loaded, and nothing is probed.
        options: keywords in place of those that the data ask for, where the model has them.
    """
    contestant, fitting = Contestant.of(name), corpus.overrides() | options
    if "image_size" not in contestant.spec.config:
        fitting.pop("image_size", None)
    if contestant.probed and device is None:
        return channels_last(probe_for(contestant, corpus, fitting))
    return channels_last(contestant.make(fitting, device))


def _parts(
    model: nn.Module, part: Corpus, run: Run, fabric: Fabric
) -> tuple[nn.Module, Iterator[Batch], Callable[[Any], nn.Module]]:
    """Give what is trained, its batches, and what makes of it the model that is judged: of a probe, the classifier."""
    if not isinstance(model, Probe):
        return model, _batches(part, run), lambda trained: trained
    vectors = VectorBatches(model.moved(fabric), part, fabric, keep=not run.augment)
    return model.classifier, vectors.endless(run.batch_size, run.seed), model.remembering().with_classifier


def _forwards(run: Run) -> int:
    """Count the examples that a frozen model reads in a training: each once, but anew where they are augmented."""
    seen = run.steps * min(run.batch_size, run.size)
    return seen if run.augment else min(seen, run.size)


def _batches(corpus: Corpus, run: Run) -> Iterator[Batch]:
    """Give batches without end; order and augmentation come from one generator."""
    generator = torch.Generator().manual_seed(run.seed)
    while True:
        for index in corpus.epoch(generator, run.batch_size):
            yield corpus.batch(index, generator)


def _scores(corpus: Corpus, model: nn.Module, split: str, batch_size: int, fabric: Fabric) -> dict[str, float]:
    with torch.no_grad(), fabric.autocast():
        return corpus.score(model, split, batch_size)


def _tested(corpus: Corpus, model: nn.Module, batch_size: int, fabric: Fabric) -> dict[str, Any]:
    with torch.no_grad(), fabric.autocast():
        return judged(corpus, model, batch_size)


def _multiply_adds(corpus: Corpus, model: nn.Module) -> int:
    """Count those of a validation example, of the median length where lengths differ."""
    if isinstance(corpus, BatchedCorpus):
        median = int(corpus.lengths["validation"].argsort(stable=True)[(corpus.sizes["validation"] - 1) // 2])
        example = corpus.examples("validation", [median], None)
    else:
        example = next(iter(corpus.held_out("validation", 1)))
    return count(model, *example.inputs).multiply_adds
