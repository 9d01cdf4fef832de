from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

import zoo
from zoo.core import Attention, HardAttention, Tokens
from zoo.core.losses.alignment import guided_attention, monotonic
from zoo.core.losses.loss import cross_entropy
from zoo.core.mechanisms.alignment import hard
from zoo.core.models.generator import Generator
from zoo.data.corpus import Batch
from zoo.errors import ConfigError
from zoo.training.config import Settings
from zoo.training.losses.attention_losses import GuidedAttention
from zoo.training.losses.objectives import (
    AlignmentReinforce,
    Corrupted,
    Reinforce,
    ScheduledSampling,
    TeacherForcing,
    objective_for,
    rising,
)

Make = Callable[..., Generator]


class Spy:
    """Keep what an objective is given."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def __call__(self, forward: Any, batch: Batch, step: int) -> Tensor:
        self.batches.append(batch)
        return cross_entropy(forward(*batch.inputs), batch.target)

    @property
    def read(self) -> Tensor:
        ids: Tensor = self.batches[-1].inputs[-1]
        return ids


def test_teaching_is_the_loss_of_the_corpus_or_of_the_model(quadrants: Any, copier: Make, copies: Batch) -> None:
    model = copier()
    by_hand = cross_entropy(model(*copies.inputs), copies.target, 0.1)
    torch.testing.assert_close(TeacherForcing(quadrants, 0.1)(model, copies, 0), by_hand)

    class Own(nn.Module):
        def training_loss(self, inputs: tuple[Tensor, ...], target: Tensor, smoothing: float) -> Tensor:
            return inputs[0].sum() + smoothing

    assert TeacherForcing(quadrants, 0.5)(Own(), copies, 0) == copies.inputs[0].sum() + 0.5


def test_at_rate_1_a_decoder_reads_its_own_words_and_no_other(copier: Make, copies: Batch) -> None:
    model, spy = copier().eval(), Spy()
    own = model(*copies.inputs).argmax(-1)
    ScheduledSampling(spy, model, lambda step: 1.0)(model, copies, 0)
    ids = copies.inputs[-1]
    assert torch.equal(spy.read[:, 0], ids[:, 0])  # the begin stays
    assert torch.equal(spy.read[0, 1:], own[0, :-1])
    assert torch.equal(spy.read[1, 1:3], own[1, :2])
    assert torch.equal(spy.read[1, 3:], ids[1, 3:])  # and so does the padding
    assert torch.equal(spy.batches[-1].target, copies.target)


def test_the_rate_is_that_of_the_step(copier: Make) -> None:
    model, spy = copier(), Spy()
    ids = torch.randint(3, 10, (50, 21))
    target = torch.cat([ids[:, 1:], torch.full((50, 1), 2)], 1)
    batch = Batch((ids, torch.full((50,), 21), ids), target)
    aid = ScheduledSampling(spy, model, lambda step: 0.25 * step)
    shares = []
    for step in (0, 1, 4):
        aid(model, batch, step)
        own = model(*batch.inputs).argmax(-1)[:, :-1]
        differ = own != ids[:, 1:]
        shares.append(float((spy.read[:, 1:] != ids[:, 1:])[differ].float().mean()))
    assert shares[0] == 0
    assert 0.15 < shares[1] < 0.35
    assert shares[2] == 1


def test_the_first_pass_has_no_gradient_of_its_own(copier: Make, copies: Batch) -> None:
    model = copier().eval()
    calls = []
    model.head.register_forward_hook(lambda *args: calls.append(torch.is_grad_enabled()))
    ScheduledSampling(Spy(), model, lambda step: 0.5)(model, copies, 0).backward()
    assert calls == [False, True]


def test_corrupted_words_are_wrong_words_and_never_symbols(copier: Make, copies: Batch) -> None:
    model, spy = copier(), Spy()
    for _ in range(20):
        Corrupted(spy, model, 1.0)(model, copies, 0)
        ids, read = copies.inputs[-1], spy.read
        changed = read != ids
        assert changed.tolist() == [[False, True, True, True, True], [False, True, True, False, False]]
        assert int(read[changed].min()) >= 3
    Corrupted(spy, model, 0.0)(model, copies, 0)
    assert torch.equal(spy.read, copies.inputs[-1])


def test_a_decoder_alone_has_its_input_changed_too(copier: Make) -> None:
    model, spy = copier(crosses=False), Spy()
    ids = torch.tensor([[1, 5, 6, 7, 8]])
    target = torch.tensor([[-100, -100, 7, 8, 2]])  # the prompt is not asked for, and stays
    Corrupted(spy, model, 1.0)(model, Batch((ids,), target), 0)
    read = spy.batches[-1].inputs[0]
    assert (read != ids).tolist() == [[False, False, False, True, True]]


def test_guided_attention_adds_the_prior_of_every_layer(copier: Make, copies: Batch) -> None:
    model = copier().eval()
    queries, keys = torch.tensor([5, 3]), torch.tensor([4, 2])
    maps = [each for each in model.attention_maps(*copies.inputs) if each.shape[-1] == 4 and each.shape[-2] == 5]
    assert len(maps) == 2
    plain = Spy()(model, copies, 0)
    prior = sum(guided_attention(each, queries, keys) for each in maps) / 2
    back = sum(monotonic(each, queries, keys) for each in maps) / 2
    given = GuidedAttention(Spy(), model, 3.0, 2.0)(model, copies, 0)
    torch.testing.assert_close(given, plain + 3 * prior + 2 * back)


def test_guided_attention_turns_attention_to_the_diagonal(copier: Make, copies: Batch) -> None:
    model = copier()

    def only_prior(forward: Any, batch: Batch, step: int) -> Tensor:
        return 0.0 * forward(*batch.inputs).sum()

    aid = GuidedAttention(only_prior, model, 1.0)
    optimizer = torch.optim.Adam(model.parameters(), 0.03)
    losses = []
    for step in range(12):
        loss = aid(model, copies, step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.8 * losses[0]


def test_nothing_watches_a_layer_after_the_step(copier: Make, copies: Batch) -> None:
    model = copier()
    GuidedAttention(Spy(), model, 1.0)(model, copies, 0)
    crosses = [part for part in model.modules() if isinstance(part, Attention)]
    assert not any(part._forward_pre_hooks for part in crosses)


def test_aids_compose(copier: Make, copies: Batch) -> None:
    model, spy = copier(), Spy()
    aid = Corrupted(ScheduledSampling(GuidedAttention(spy, model, 0.5), model, lambda step: 0.5), model, 0.5)
    aid(model, copies, 0).backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_a_rising_rate_ends_at_its_height() -> None:
    rate = rising(0.4, 101)
    assert [rate(step) for step in (0, 50, 100, 200)] == pytest.approx([0.0, 0.2, 0.4, 0.4])


class Finder(nn.Module):
    """Answer for each row by hard attention of its first vector to the others; 3 classes."""

    def __init__(self, dim: int, heads: int = 1) -> None:
        super().__init__()
        self.attention = HardAttention(dim, heads)
        self.head = nn.Linear(dim, 3)

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self.head(self.attention(Tokens(x[:, :1]), Tokens(x[:, 1:]))[:, 0])
        return answer


class Alone(nn.Module):
    """A model whose loss of training is one number for the batch."""

    def __init__(self, model: Finder) -> None:
        super().__init__()
        self.model = model

    def training_loss(self, inputs: tuple[Tensor, ...], target: Tensor, smoothing: float) -> Tensor:
        return cross_entropy(self.model(*inputs), target, smoothing)


def gradients(loss: Tensor, model: nn.Module) -> Tensor:
    grads = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    pairs = zip(grads, model.parameters(), strict=True)
    return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in pairs])


@pytest.mark.parametrize("own", [False, True])
def test_reinforce_estimates_the_gradient_of_the_expected_loss(quadrants: Any, own: bool) -> None:
    torch.manual_seed(0)
    model, rows, draws = Finder(4).double(), 2, 300
    x, target = 2 * torch.randn(rows, 5, 4, dtype=torch.float64), torch.tensor([0, 2])
    q, k, v, *_ = model.attention.inputs(Tokens(x[:, :1]), Tokens(x[:, 1:]), None)
    chance = (q[:, :, 0] @ k[:, :, 0].mT / 2).softmax(-1)[:, 0]
    answers = model.head(model.attention.out(v[:, :, 0]))
    loss = torch.zeros((), dtype=torch.float64)
    for keys in product(range(4), repeat=rows):  # every choice of the batch
        place = torch.arange(rows), torch.tensor(keys)
        loss = loss + chance[place].prod() * cross_entropy(answers[place], target)
    exact = gradients(loss, model)
    trained = Alone(model) if own else model
    objective = Reinforce(quadrants, trained, 1.0)
    found = torch.stack([gradients(objective(trained, Batch((x,), target), 0), model) for _ in range(draws)])
    error = found.std(0) / draws**0.5
    assert bool(((found.mean(0) - exact).abs() <= 4 * error + 1e-12).all())
    choosing = model.attention.inner * 4  # the rows of the queries
    assert float(exact[:choosing].abs().max()) > 0.01


def test_the_value_of_reinforce_is_the_loss_and_its_rewards_are_those_of_the_rows(quadrants: Any) -> None:
    torch.manual_seed(0)
    model = Finder(4).eval()
    x, target = torch.randn(3, 5, 4), torch.tensor([0, 2, 1])
    objective = Reinforce(quadrants, model, 0.5, 0.1)
    by_hand = cross_entropy(model(x), target, 0.1)
    torch.testing.assert_close(objective(model, Batch((x,), target), 0), by_hand)
    torch.testing.assert_close(objective.rewards(model(x), target).mean(), -by_hand)
    padded = torch.tensor([[0, -100], [-100, -100], [1, 2]])
    answer = torch.randn(3, 2, 3)
    rewards = objective.rewards(answer, padded)
    torch.testing.assert_close(rewards.mean(), -cross_entropy(answer, padded, 0.1))
    assert rewards[1] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("weight", "learns"), [(1.0, True), (0.0, False)])
def test_reinforce_learns_where_to_look_and_the_loss_alone_does_not(
    quadrants: Any, weight: float, learns: bool
) -> None:
    torch.manual_seed(0)
    model = Finder(8)
    objective = Reinforce(quadrants, model, weight)  # which `objective_for` refuses to make with a weight of 0
    optimizer = torch.optim.Adam(model.parameters(), 0.03)

    def drawn(rows: int) -> tuple[Tensor, Tensor]:
        """Six vectors, one of which is marked; asked is its class."""
        x, target, place = torch.zeros(rows, 7, 8), torch.randint(3, (rows, 6)), torch.randint(6, (rows,))
        x[:, 1:, :3] = nn.functional.one_hot(target, 3).float()
        x[torch.arange(rows), 1 + place, 3] = 1
        x[:, 0, 4] = 1
        return x, target[torch.arange(rows), place]

    for step in range(200):
        x, target = drawn(32)
        loss = objective(model, Batch((x,), target), step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x, target = drawn(500)
    right = float((model.eval()(x).argmax(-1) == target).float().mean())
    assert right > 0.95 if learns else right < 0.7  # one of six by chance, and a third of the others


@pytest.fixture
def linear() -> nn.Module:
    return nn.Linear(2, 2)


def test_models_that_do_not_fit_are_refused(linear: nn.Module, copier: Make, quadrants: Any) -> None:
    with pytest.raises(ConfigError, match="scheduled_sampling is for models that write token by token, and Linear"):
        ScheduledSampling(Spy(), linear, lambda step: 0.5)
    with pytest.raises(ConfigError, match="Linear, which has no attention to an encoder"):
        GuidedAttention(Spy(), linear, 0.5)
    with pytest.raises(ConfigError, match=r"reinforce=0.5 of Linear, whose attention chooses nothing: create it with"):
        Reinforce(quadrants, linear, 0.5)
    with pytest.raises(ConfigError, match=r"corrupt=0.5 with a vocabulary of 1 words besides the symbols"):
        Corrupted(Spy(), copier(vocab_size=4), 0.5)


SOURCE, WORDS, READ = torch.tensor([[4, 5, 3]]), torch.tensor([[3, 4]]), torch.tensor([[1, 3]])
CHOSEN = Batch((SOURCE, torch.tensor([3]), READ), WORDS)


def chooser() -> Any:
    torch.manual_seed(0)
    model = zoo.create("rnn-attention-tiny", choice="hard", vocab_size=6, dim=4, cell="gru", dropout=0.0).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    return model.train()


def enumerated(model: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Tensor, Tensor]:
    """Give the log-probability of every sequence of choices, and the loss with it."""
    chances, losses = [], []
    for keys in product(range(3), repeat=2):
        steps = iter(one_hot(torch.tensor(keys), 3).double().view(2, 1, 1, 3))
        with monkeypatch.context() as patch, hard.record_alignments(model, torch.tensor([False])) as seen:
            patch.setattr(hard, "choose", lambda weights, norm, steps=steps: next(steps))
            losses.append(cross_entropy(model(*CHOSEN.inputs), WORDS))
        chances.append(torch.cat(seen.log_probabilities, 1).sum())
    return torch.stack(chances), torch.stack(losses)


def test_draws_of_an_alignment_estimate_the_gradient_of_the_lower_bound(
    quadrants: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = chooser()
    log, losses = enumerated(model, monkeypatch)
    torch.testing.assert_close(log.exp().sum(), torch.ones((), dtype=torch.float64))
    bound = (log.exp() * -2 * losses).sum()  # L_s: two words
    assert bound < (log - 2 * losses).logsumexp(0)  # log p(y | a)
    exact = gradients((log.exp() * losses).sum(), model)
    log, losses = enumerated(model, monkeypatch)
    without = gradients((log.exp().detach() * losses).sum(), model)
    objective = AlignmentReinforce(quadrants, model, 1.0, draws=16)
    choices = exact - without  # their gradient is that of the bound, and the loss is the mean of all copies of the row
    expected = choices + (16 * without + gradients(softly(model), model)) / 17
    found = torch.stack([gradients(objective(model, CHOSEN, 0), model) for _ in range(50)])
    error = found.std(0) / 50**0.5
    assert bool(((found.mean(0) - expected).abs() <= 4.5 * error + 1e-12).all())
    assert float((exact - without).norm()) > 3 * float(error.norm())  # so the draws' own part is measured


def softly(model: Any) -> Tensor:
    """Give the loss of a row that reads the expected vector."""
    with hard.record_alignments(model, torch.tensor([True])):
        return cross_entropy(model(*CHOSEN.inputs), WORDS)


def test_the_baseline_of_an_alignment_is_the_moving_average_of_what_drawing_costs(quadrants: Any) -> None:
    model = chooser()
    objective = AlignmentReinforce(quadrants, model, 1.0, draws=3)
    expected = float(softly(model).detach())
    drawn = [(4 * float(objective(model, CHOSEN, 0).detach()) - expected) / 3 for _ in range(2)]
    costs = [expected - each for each in drawn]
    assert model.decoder.alignment.baseline.item() == pytest.approx(0.9 * 0.1 * costs[0] + 0.1 * costs[1])
    assert "decoder.alignment.baseline" in model.state_dict()


def test_a_choice_gains_by_its_own_word_and_those_behind_it_over_the_expected_vector(quadrants: Any) -> None:
    objective = AlignmentReinforce(quadrants, chooser(), 1.0, draws=2)
    likely = torch.tensor([[0.5, 0.5, 0.5, 0.5], [0.5, 0.25, 0.5, 0.1], [0.25, 0.5, 0.5, 0.9]])  # of copies of a row
    answer = torch.stack([likely, 1 - likely], -1).log()
    target = torch.tensor([[0, 0, 0, -100]]).expand(3, -1)
    baseline = torch.tensor([0.1])
    gains = objective.gains(answer, target, target[1:] != -100, baseline)
    half = torch.tensor(0.5).log()
    torch.testing.assert_close(gains[0, :3], torch.stack([half - 0.3, half - 0.2, torch.tensor(-0.1)]))
    torch.testing.assert_close(gains[1, :3], torch.stack([half - 0.3, torch.tensor(-0.2), torch.tensor(-0.1)]))
    assert not gains[:, 3].any()
    torch.testing.assert_close(baseline, 0.9 * torch.tensor([0.1]) + 0.1 * 2 * half / 6)


def test_rows_that_read_softly_choose_nothing_and_have_the_gradient_of_soft_attention(quadrants: Any) -> None:
    model = chooser()
    soft = zoo.create("rnn-attention-tiny", vocab_size=6, dim=4, cell="gru", dropout=0.0).double()
    soft.load_state_dict({key: x for key, x in model.state_dict().items() if not key.endswith("baseline")})
    loss, expected = softly(model), TeacherForcing(quadrants)(soft, CHOSEN, 0)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradients(loss, model), gradients(expected, soft))
    with hard.record_alignments(model, torch.tensor([True])) as seen:
        model(*CHOSEN.inputs)
    assert not torch.cat(seen.log_probabilities, 1).any()


def test_entropy_keeps_choices_open_and_steps_behind_the_end_count_nowhere(quadrants: Any) -> None:
    model = chooser()
    ended = Batch(CHOSEN.inputs, torch.tensor([[3, -100]]))
    objectives = [AlignmentReinforce(quadrants, model, 1.0, entropy=entropy) for entropy in (0.5, 0.0)]
    found = []
    for objective in objectives:
        torch.manual_seed(1)
        model.decoder.alignment.baseline.zero_()
        found.append(gradients(objective(model, ended, 0), model))
    with hard.record_alignments(model, torch.tensor([True])) as seen:
        model(*CHOSEN.inputs)
    first = seen.entropies[0].mean()
    torch.testing.assert_close(found[0] - found[1], gradients(-0.5 * first, model))


def test_hard_alignment_without_its_objective_is_refused(quadrants: Any) -> None:
    model = chooser()
    with pytest.raises(ConfigError, match="without the objective that trains its choices, REINFORCE"):
        TeacherForcing(quadrants)(model, CHOSEN, 0)
    with pytest.raises(ConfigError, match=r"reinforce=0.0 of AttentionTranslator with choice='hard': REINFORCE is all"):
        objective_for(quadrants, model, Settings(steps=1, label_smoothing=0.0, reinforce=0.0))
    with pytest.raises(ConfigError, match="doubly stochastic attention of hard attention"):
        objective_for(quadrants, model, Settings(steps=1, label_smoothing=0.0, reinforce=1.0, doubly_stochastic=0.1))
    with pytest.raises(ConfigError, match=r"reinforce_entropy=None and reinforce_draws=2 are for .* Linear has none"):
        objective_for(quadrants, nn.Linear(1, 1), Settings(steps=1, label_smoothing=0.0, reinforce_draws=2))
    settings = Settings(steps=1, label_smoothing=0.0, doubly_stochastic_target="uniform")
    with pytest.raises(ConfigError, match="doubly_stochastic_target='uniform' without doubly_stochastic="):
        objective_for(quadrants, nn.Linear(1, 1), settings)
    with torch.no_grad():
        model(*CHOSEN.inputs)  # as scheduled sampling looks ahead
