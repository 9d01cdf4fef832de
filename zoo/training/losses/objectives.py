"""Objectives of models that generate: each wraps another, and changes its inputs or adds to its loss.

    objective = GuidedAttention(ScheduledSampling(TeacherForcing(corpus, 0.1), model, rate), model, weight=0.1)

Those that draw (`Mixup`, `ScheduledSampling`, `Corrupted`) read torch's own generator, which checkpoints keep.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from zoo.core.losses.loss import IGNORED, count_targets
from zoo.core.losses.reinforce import leave_one_out, reinforce
from zoo.core.mechanisms.alignment.hard import hard_alignments, record_alignments
from zoo.core.mechanisms.hard_attention import hard_layers, record_choices
from zoo.core.models.generator import Generator
from zoo.core.models.model import has_own_loss
from zoo.data.corpus import Batch, Corpus
from zoo.data.corpus_options import mixes_inputs
from zoo.errors import ConfigError
from zoo.training.config import Settings
from zoo.training.fine_tuning.class_weights import Balanced
from zoo.training.losses.attention_losses import DoublyStochastic, GuidedAttention
from zoo.training.losses.mixup import Mixup
from zoo.training.losses.own_loss import Loss, OwnLoss, check_own_loss
from zoo.training.objective import Objective


class TeacherForcing:
    """Loss of the corpus or the model; a decoder reads the target tokens so far (teacher forcing).

    Args:
        corpus: gives the loss, unless the model has one of its own.
        smoothing: of the labels.
    """

    def __init__(self, corpus: Corpus, smoothing: float = 0.0) -> None:
        self.corpus = corpus
        self.smoothing = smoothing

    def __call__(self, forward: Any, batch: Batch, step: int) -> Tensor:
        """Give the loss."""
        if has_own_loss(forward):
            loss: Tensor = forward.training_loss(batch.inputs, batch.target, self.smoothing)
            return loss
        return self.corpus.loss(forward(*batch.inputs), batch.target, self.smoothing)

    def rewards(self, answer: Tensor, target: Tensor) -> Float[Tensor, " b"]:
        """Give minus the loss of each row, weighted so that their mean is that of the batch."""
        shares = torch.stack([count_targets(row) for row in target]) / count_targets(target).clamp(min=1)
        pairs = zip(answer.split(1), target.split(1), strict=True)
        losses = torch.stack([self.corpus.loss(*pair, self.smoothing) for pair in pairs])
        return -losses * shares * len(target)


class Reinforce(TeacherForcing):
    """Add REINFORCE, which trains what hard attention chooses: arXiv:1502.03044 eq. 11.

    A row's reward is minus its own loss, and its baseline the mean reward of the other rows. Where rows have no loss of
    their own (CTC, packed graphs), the batch is computed twice, and each time is the other's baseline. The value is
    that of the loss alone.

    Args:
        corpus: gives the loss, unless the model has one of its own.
        model: has a `HardAttention`.
        weight: of the gradient of the choices (lambda_r).
        smoothing: of the labels.
    """

    def __init__(self, corpus: Corpus, model: nn.Module, weight: float, smoothing: float = 0.0) -> None:
        super().__init__(corpus, smoothing)
        self.weight = weight
        if not hard_layers(model):
            raise ConfigError(
                f"reinforce={weight} of {type(model).__name__}, whose attention chooses nothing: create it with "
                "attention='hard'"
            )

    def __call__(self, forward: Any, batch: Batch, step: int) -> Tensor:
        """Give the loss."""
        loss, rewards, chosen = self._draw(forward, batch)
        if len(rewards) == 1:
            again, reward, choice = self._draw(forward, batch)
            loss, rewards, chosen = (loss + again) / 2, torch.cat([rewards, reward]), torch.cat([chosen, choice])
        choices = reinforce(chosen[:, None], rewards, leave_one_out(rewards))
        return loss + self.weight * (choices - choices.detach())

    def _draw(self, forward: Any, batch: Batch) -> tuple[Tensor, Float[Tensor, " r"], Float[Tensor, " r"]]:
        """Give the loss, and for each row, or the whole batch, the reward and the log-probability of its choices."""
        with record_choices(forward) as seen:
            if has_own_loss(forward):
                answer, loss = None, super().__call__(forward, batch, 0)
            else:
                answer = forward(*batch.inputs)
                loss = self.corpus.loss(answer, batch.target, self.smoothing)
        rows = len(batch.target)
        if answer is None or rows != len(answer) or any(rows != len(choices) for choices in seen):
            return loss, -loss.detach()[None], sum((choices.sum() for choices in seen), loss.new_zeros(1))
        chosen = sum((choices.flatten(1).sum(1) for choices in seen), loss.new_zeros(rows))
        return loss, self.rewards(answer.detach(), batch.target), chosen


class AlignmentReinforce(TeacherForcing):
    """Train the hard attention of a recurrent decoder by REINFORCE: arXiv:1502.03044 eq. 11 and 12.

    Each row is drawn N times, and read once by the expected vector, through which its gradient flows; the paper takes
    that with probability 1/2 instead of a draw. Three differences to eq. 11 lessen the variance and leave the
    expectation as it is. A choice is rewarded by the log-likelihood of its own word and those behind it, which are all
    that it changes. From that of each word its log-likelihood with the expected vector is taken off, so that easy rows
    and words do not count. The moving average of eq. 12 is that of what is left: what drawing costs. Choices have the
    gradient of eq. 11 whole, though only N of N + 1 rows are drawn. Steps behind a row's end count nowhere. The value
    is that of the loss alone.

    Args:
        corpus: gives the loss.
        model: has one `HardAlignment`.
        weight: of the gradient of the choices (λ_r).
        entropy: weight of the entropy of what is drawn from (λ_e).
        draws: of each row (N).
        smoothing: of the labels.

    Raises:
        ConfigError: If the choices would not be trained.
    """

    def __init__(
        self,
        corpus: Corpus,
        model: nn.Module,
        weight: float,
        *,
        entropy: float = 0.0,
        draws: int = 1,
        smoothing: float = 0.0,
    ) -> None:
        super().__init__(corpus, smoothing)
        self.weight, self.entropy, self.draws = weight, entropy, draws
        if not weight:
            raise ConfigError(
                f"reinforce={weight} of {type(model).__name__} with choice='hard': REINFORCE is all that trains its "
                "choices; give reinforce= a weight above 0, or make the model with choice='soft'"
            )

    def __call__(self, forward: Any, batch: Batch, step: int) -> Tensor:
        """Give the loss."""
        copies = 1 + self.draws  # of a row, one behind another; the first reads the expected vector
        target = batch.target.repeat_interleave(copies, 0)
        soft = torch.arange(len(target), device=target.device) % copies == 0
        with record_alignments(forward, soft) as seen:
            answer = forward(*(each.repeat_interleave(copies, 0) for each in batch.inputs))
        loss = self.corpus.loss(answer, target, self.smoothing)
        chosen, entropies, known = (torch.cat(x, 1)[~soft] for x in (seen.log_probabilities, seen.entropies, [target]))
        known = known != IGNORED
        gains = self.gains(answer.detach(), target, known, hard_alignments(forward)[0].baseline)
        choices = ((self.weight * gains * chosen + self.entropy * entropies) * known).sum() / known.sum().clamp(min=1)
        return loss - (choices - choices.detach())

    def gains(
        self,
        answer: Float[Tensor, "b m c"],
        target: Int[Tensor, "b m"],
        known: Bool[Tensor, "drawn m"],
        baseline: Float[Tensor, " 1"],
    ) -> Float[Tensor, "drawn m"]:
        """Give what each choice gained over what was expected of it, and move the baseline.

        Args:
            answer: of all copies of the rows.
            target: their words.
            known: which words of the drawn copies count.
            baseline: the moving average, of a word.
        """
        written = -cross_entropy(answer.mT, target, ignore_index=IGNORED, reduction="none")
        written = written.unflatten(0, (-1, 1 + self.draws))
        rewards = (written[:, 1:] - written[:, :1]).flatten(0, 1)
        gains = ((rewards - baseline) * known).flip(1).cumsum(1).flip(1)
        baseline.mul_(0.9).add_(0.1 * rewards.sum() / known.sum().clamp(min=1))
        return gains


class ScheduledSampling:
    """Scheduled sampling: the decoder reads its own predictions instead of targets, at a rate by step.

    arXiv:1506.03099, in two passes that compute all positions at once: arXiv:1906.07651 sec. 3. The first pass has no
    gradient; the most probable tokens are taken.

    Args:
        objective: what is asked with the changed inputs.
        model: writes.
        rate: step to the probability, in [0, 1], that a token is the model's own.
    """

    def __init__(self, objective: Objective, model: nn.Module, rate: Callable[[int], float]) -> None:
        self.objective = objective
        self.place = decoder_input(model, "scheduled_sampling")
        self.rate = rate

    def __call__(self, forward: Any, batch: Batch, step: int) -> Tensor:
        """Give the loss."""
        if (rate := self.rate(step)) > 0:
            with torch.no_grad():
                own = forward(*batch.inputs).argmax(-1)
            ids = batch.inputs[self.place]
            # What stands at a place is what was to be written at the place before.
            own = torch.cat([ids[:, :1], own[:, :-1].to(ids.dtype)], dim=1)
            chosen = replaceable(batch, self.place) & (torch.rand(ids.shape, device=ids.device) < rate)
            batch = with_input(batch, self.place, torch.where(chosen, own, ids))
        return self.objective(forward, batch, step)


class Corrupted:
    """Input corruption: the decoder reads tokens drawn uniformly instead of targets, at a rate.

    Args:
        objective: what is asked with the changed inputs.
        model: writes.
        rate: probability, in [0, 1], that a token is another word.
    """

    def __init__(self, objective: Objective, model: nn.Module, rate: float) -> None:
        self.objective = objective
        self.place = decoder_input(model, "corrupt")
        self.rate = rate
        assert isinstance(model, Generator)
        self.words = torch.tensor([word for word in range(model.num_classes) if word not in set(model.symbols)])
        if len(self.words) < 2:
            raise ConfigError(f"corrupt={rate} with a vocabulary of {len(self.words)} words besides the symbols")

    def __call__(self, forward: Any, batch: Batch, step: int) -> Tensor:
        """Give the loss."""
        ids = batch.inputs[self.place]
        words = self.words.to(ids.device, ids.dtype)
        drawn = torch.randint(len(words), ids.shape, device=ids.device)
        wrong = words[drawn]
        wrong = torch.where(wrong == ids, words[(drawn + 1) % len(words)], wrong)
        chosen = replaceable(batch, self.place) & (torch.rand(ids.shape, device=ids.device) < self.rate)
        return self.objective(forward, with_input(batch, self.place, torch.where(chosen, wrong, ids)), step)


def objective_for(corpus: Corpus, model: nn.Module, settings: Settings, loss: Loss | None = None) -> Objective:
    """Make the objective that resolved settings ask for, with a loss in place of the corpus's where one is given."""
    assert settings.label_smoothing is not None
    assert settings.steps
    objective: Objective = TeacherForcing(corpus, settings.label_smoothing)
    if loss is not None:
        check_own_loss(model, settings)
        objective = OwnLoss(loss)
    if settings.class_weights == "balanced":
        if settings.reinforce:
            raise ConfigError(f"class_weights={settings.class_weights!r} with reinforce={settings.reinforce}: take one")
        objective = Balanced(corpus, model, settings.label_smoothing)
    if settings.mixup:
        check_mixup(model, settings)
        objective = objective if mixes_inputs(corpus) else Mixup(objective, model, settings.mixup)
    if hard_alignments(model):
        objective = AlignmentReinforce(
            corpus,
            model,
            settings.reinforce or 0.0,
            entropy=settings.reinforce_entropy or 0.0,
            draws=settings.reinforce_draws or 1,
            smoothing=settings.label_smoothing,
        )
    elif hard_layers(model) and not settings.reinforce:
        raise ConfigError(
            f"reinforce={settings.reinforce} of {type(model).__name__} with attention='hard': REINFORCE is all that "
            "trains its choices; give reinforce= a weight above 0, or leave it out, which is 1"
        )
    elif settings.reinforce_entropy or settings.reinforce_draws:
        given = settings.reinforce_entropy, settings.reinforce_draws
        raise ConfigError(
            "reinforce_entropy={} and reinforce_draws={} are for the hard attention of recurrent decoders, and {} has "
            "none: make rnn-attention-tiny with choice='hard'".format(*given, type(model).__name__)
        )
    elif settings.reinforce:
        objective = Reinforce(corpus, model, settings.reinforce, settings.label_smoothing)
    if settings.guided_attention or settings.monotonic:
        objective = GuidedAttention(objective, model, settings.guided_attention, settings.monotonic)
    if settings.doubly_stochastic:
        objective = DoublyStochastic(
            objective, model, settings.doubly_stochastic, settings.doubly_stochastic_target or "1"
        )
    elif settings.doubly_stochastic_target:
        raise ConfigError(
            f"doubly_stochastic_target={settings.doubly_stochastic_target!r} without doubly_stochastic=, the weight of "
            "that loss: give one, such as 0.01"
        )
    if settings.scheduled_sampling:
        objective = ScheduledSampling(objective, model, rising(settings.scheduled_sampling, settings.steps))
    if settings.corrupt:
        objective = Corrupted(objective, model, settings.corrupt)
    return objective


def check_mixup(model: nn.Module, settings: Settings) -> None:
    """Check that examples can be mixed beside what else settings ask for.

    Raises:
        ConfigError: If choices are rewarded, or where a decoder looks is asked of two transcripts at once.
    """
    kind = type(model).__name__
    if hard_layers(model) or hard_alignments(model):
        raise ConfigError(
            f"mixup={settings.mixup} of {kind} with hard attention, whose choices are rewarded one by one"
        )
    if has_own_loss(model) and (settings.guided_attention or settings.monotonic or settings.doubly_stochastic):
        raise ConfigError(
            f"mixup={settings.mixup} of {kind} with a loss on where its decoder looks, which then writes two "
            "transcripts: take one of the two"
        )


def rising(rate: float, steps: int) -> Callable[[int], float]:
    """Let a rate rise from 0 in a straight line: the linear decay of arXiv:1506.03099 sec. 2.4.

    Args:
        rate: at the end, in [0, 1].
        steps: until then.
    """
    return lambda step: rate * min(1.0, step / max(steps - 1, 1))


def decoder_input(model: nn.Module, aid: str) -> int:
    """Return the index of the decoder's input: the last with an encoder, else the first.

    Raises:
        ConfigError: If the model does not write token by token.
    """
    if not isinstance(model, Generator):
        raise ConfigError(f"{aid} is for models that write token by token, and {type(model).__name__} does not")
    return 0 if model.encoder is None else -1


def replaceable(batch: Batch, place: int) -> Bool[Tensor, "b n"]:
    """Tell which tokens may be others: those that were to be written at the place before, not begin and padding."""
    valid = batch.target != IGNORED
    ids: Int[Tensor, "b n"] = batch.inputs[place]
    first = torch.zeros_like(valid[:, :1])
    return torch.cat([first, valid[:, :-1]], dim=1) & torch.cat([first, _same(ids, batch.target)], dim=1)


def with_input(batch: Batch, place: int, ids: Tensor) -> Batch:
    """Give a batch with another input."""
    inputs = list(batch.inputs)
    inputs[place] = ids
    return Batch(tuple(inputs), batch.target)


def _same(ids: Tensor, target: Tensor) -> Tensor:
    """Tell where the token that follows is the target: teacher forcing."""
    return ids[:, 1:] == target[:, :-1]
