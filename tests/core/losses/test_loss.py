from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from zoo.core.errors import ConfigError, InputError
from zoo.core.losses.alignment import doubly_stochastic, guided_attention, monotonic
from zoo.core.losses.loss import IGNORED, binary_cross_entropy, count_targets, cross_entropy, squared_error

pytestmark = pytest.mark.usefixtures("float64")


def test_cross_entropy_is_the_mean_over_what_is_asked() -> None:
    answer = torch.randn(2, 3, 5)
    target = torch.tensor([[1, -100, 4], [-100, 0, -100]])
    asked = [(0, 0), (0, 2), (1, 1)]
    each = [-answer[row, place].log_softmax(-1)[target[row, place]] for row, place in asked]
    torch.testing.assert_close(cross_entropy(answer, target), torch.stack(each).mean())
    assert count_targets(target) == 3


def test_smoothing_mixes_the_target_with_an_even_one() -> None:
    answer, target = torch.randn(4, 6), torch.tensor([0, 5, 2, 2])
    wanted = 0.9 * functional.one_hot(target, 6) + 0.1 / 6
    by_hand = -(wanted * answer.log_softmax(-1)).sum(-1).mean()
    torch.testing.assert_close(cross_entropy(answer, target, 0.1), by_hand)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_targets_may_be_shares_of_classes(smoothing: float) -> None:
    answer, shares = torch.randn(4, 6).double(), torch.rand(4, 6).double().softmax(-1)
    torch.testing.assert_close(
        cross_entropy(answer, shares, smoothing), functional.cross_entropy(answer, shares, label_smoothing=smoothing)
    )
    classes = torch.tensor([0, 5, 2, 2])
    certain = functional.one_hot(classes, 6).double()
    torch.testing.assert_close(cross_entropy(answer, certain, smoothing), cross_entropy(answer, classes, smoothing))


def test_a_place_without_shares_is_not_asked() -> None:
    answer, shares = torch.randn(3, 6, requires_grad=True), torch.rand(3, 6).softmax(-1)
    shares[1] = 0
    loss = cross_entropy(answer, shares, 0.1)
    loss.backward()
    torch.testing.assert_close(loss, cross_entropy(answer[[0, 2]], shares[[0, 2]], 0.1))
    assert answer.grad is not None
    assert not answer.grad[1].any()
    assert cross_entropy(answer, torch.zeros(3, 6), 0.1) == 0


def test_what_is_not_asked_gets_no_gradient() -> None:
    answer = torch.randn(2, 2, 4, requires_grad=True)
    cross_entropy(answer, torch.tensor([[1, -100], [-100, 3]]), 0.1).backward()
    assert answer.grad is not None
    assert torch.equal(answer.grad[0, 1], torch.zeros(4))
    assert answer.grad[0, 0].abs().sum() > 0


def test_nothing_asked_is_a_loss_of_0_with_gradient_0() -> None:
    answer = torch.randn(2, 4, requires_grad=True)
    loss = cross_entropy(answer, torch.full((2,), -100))
    loss.backward()
    assert loss == 0
    assert answer.grad is not None
    assert torch.equal(answer.grad, torch.zeros(2, 4))


def test_a_target_that_is_no_class_is_named() -> None:
    with pytest.raises(InputError, match=r"target 7: the answer has 4 classes, 0 … 3"):
        cross_entropy(torch.zeros(2, 4), torch.tensor([1, 7]))
    with pytest.raises(ConfigError, match=r"smoothing=1.0 is not in \[0, 1\)"):
        cross_entropy(torch.zeros(2, 4), torch.tensor([1, 3]), 1.0)


def test_guided_attention_is_the_formula_of_the_paper() -> None:
    weights = torch.rand(1, 2, 3, 4)
    total = 0.0
    for n in range(4):
        for t in range(3):
            away = 1 - torch.exp(torch.tensor(-((n / 4 - t / 3) ** 2) / (2 * 0.3**2)))
            total += float((weights[0, :, t, n] * away).sum())
    assert guided_attention(weights, sigma=0.3) == pytest.approx(total / 24)


def test_the_diagonal_costs_less_than_its_mirror_image() -> None:
    diagonal = torch.eye(6)[None, None]
    assert guided_attention(diagonal) == 0
    assert guided_attention(diagonal.flip(-1)) > 0.1


def test_padding_changes_no_prior() -> None:
    weights = torch.rand(1, 2, 3, 4).softmax(-1)
    padded = torch.full((1, 2, 5, 7), 9.0)
    padded[:, :, :3, :4] = weights
    lengths = torch.tensor([3]), torch.tensor([4])
    torch.testing.assert_close(guided_attention(padded, *lengths), guided_attention(weights))
    padded[:, :, :, 4:] = 0.0
    torch.testing.assert_close(monotonic(padded, *lengths), monotonic(weights))


def test_only_going_back_is_penalised() -> None:
    forwards = torch.eye(4)[None, None]
    assert monotonic(forwards) == 0
    back = forwards[:, :, [0, 2, 1, 3]]
    assert monotonic(back) == pytest.approx(0.25 / 3)  # one of three pairs goes back by one of four keys
    standing = torch.zeros(1, 1, 3, 4)
    standing[..., 1] = 1
    assert monotonic(standing) == 0
    assert monotonic(standing, margin=0.5) == pytest.approx(0.5 / 3)


def test_rows_without_queries_or_keys_cost_nothing() -> None:
    weights = torch.rand(2, 1, 3, 3)
    nothing = torch.zeros(2, dtype=torch.long)
    assert guided_attention(weights, nothing, nothing) == 0
    assert monotonic(weights, nothing, nothing) == 0


def test_a_diagonal_without_width_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"sigma=0.0: the diagonal has a positive width"):
        guided_attention(torch.rand(1, 1, 2, 2), sigma=0.0)


def test_labels_that_are_not_asked_change_nothing() -> None:
    answer = torch.randn(4, 3, requires_grad=True)
    target = torch.tensor([[1, 0, torch.nan], [0, torch.nan, torch.nan], [1, 1, 1], [torch.nan] * 3])
    asked = ~target.isnan()
    loss = binary_cross_entropy(answer, target)
    wanted = functional.binary_cross_entropy_with_logits(answer[asked], target[asked])
    torch.testing.assert_close(loss, wanted)
    loss.backward()
    assert answer.grad is not None
    assert torch.equal(answer.grad != 0, asked)


def test_smoothed_labels_are_less_sure_on_both_sides() -> None:
    answer, target = torch.tensor([[3.0, -1.0]]), torch.tensor([[1.0, 0.0]])
    wanted = functional.binary_cross_entropy_with_logits(answer, torch.tensor([[0.9, 0.1]]))
    torch.testing.assert_close(binary_cross_entropy(answer, target, 0.2), wanted)


def test_numbers_that_are_not_asked_change_nothing() -> None:
    answer = torch.randn(2, 2, requires_grad=True)
    loss = squared_error(answer, torch.tensor([[1.0, torch.nan], [torch.nan, 3.0]]))
    torch.testing.assert_close(loss, ((answer[0, 0] - 1) ** 2 + (answer[1, 1] - 3) ** 2) / 2)
    loss.backward()
    assert answer.grad is not None
    assert answer.grad[0, 1] == answer.grad[1, 0] == 0


@pytest.mark.parametrize("loss", [binary_cross_entropy, squared_error])
def test_where_no_number_is_asked_the_loss_is_zero(loss: Callable[..., Tensor]) -> None:
    answer = torch.randn(2, 2, requires_grad=True)
    value = loss(answer, torch.full((2, 2), torch.nan))
    value.backward()
    assert value == 0
    assert answer.grad is not None
    assert not answer.grad.any()


def test_what_is_asked_of_numbers_is_counted() -> None:
    assert count_targets(torch.tensor([1.0, torch.nan, 0.0])) == 2
    assert count_targets(torch.tensor([1, IGNORED, 0])) == 2


def test_targets_that_do_not_fit_the_answer_are_refused() -> None:
    with pytest.raises(InputError, match=r"target 2.0: a label is 0, 1 or NaN"):
        binary_cross_entropy(torch.randn(1, 2), torch.tensor([[0.0, 2.0]]))
    with pytest.raises(InputError, match=r"target of shape \(2,\) and torch.float64 for an answer of \(2, 1\)"):
        squared_error(torch.randn(2, 1), torch.randn(2))
    with pytest.raises(ConfigError, match=r"smoothing=0.1 of numbers: only labels are smoothed"):
        squared_error(torch.randn(2, 1), torch.randn(2, 1), 0.1)
    with pytest.raises(ConfigError, match=r"smoothing=1.0 is not in \[0, 1\)"):
        binary_cross_entropy(torch.randn(2, 1), torch.zeros(2, 1), 1.0)


QUERIES, KEYS = torch.tensor([3, 2]), torch.tensor([2, 4])


def cover(target: str) -> tuple[Tensor, Tensor]:
    weights = torch.rand(2, 1, 3, 4, dtype=torch.float64).requires_grad_()
    return weights, doubly_stochastic(weights, QUERIES, KEYS, target)


@pytest.mark.parametrize("target", ["1", "uniform"])
def test_doubly_stochastic_is_its_formula_summed_over_keys_and_averaged_over_the_batch(target: str) -> None:
    weights, loss = cover(target)
    rows = []
    for row, (c, n) in enumerate(zip(QUERIES.tolist(), KEYS.tolist(), strict=True)):
        wanted = 1 if target == "1" else c / n
        rows.append(((wanted - weights[row, 0, :c, :n].sum(0)) ** 2).sum())
    torch.testing.assert_close(loss, torch.stack(rows).mean())


def test_doubly_stochastic_counts_nothing_behind_the_end_and_in_the_padding() -> None:
    weights, loss = cover("uniform")
    (gradient,) = torch.autograd.grad(loss, weights)
    there = (torch.arange(3) < QUERIES[:, None])[:, None, :, None] & (torch.arange(4) < KEYS[:, None])[:, None, None]
    assert bool((gradient != 0).eq(there).all())


@pytest.mark.parametrize(("target", "reachable"), [("1", False), ("uniform", True)])
def test_even_weights_reach_a_target_of_queries_over_keys_and_not_of_one(target: str, reachable: bool) -> None:
    even = torch.full((2, 2, 6, 3), 1 / 3, dtype=torch.float64)
    assert (float(doubly_stochastic(even, target=target)) < 1e-12) is reachable


def test_other_targets_of_doubly_stochastic_attention_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"target='C/L' is neither '1' nor 'uniform'"):
        cover("C/L")
