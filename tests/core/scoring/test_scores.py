"""Scores with parameters: their formula, one pair at a time, and the gradients of their parameters."""

import pytest
import torch
from torch import Tensor

from zoo.core import Additive, Causal, ConfigError, General, InputError, Valid, attend
from zoo.core.backends import BACKENDS
from zoo.core.scoring.scores import Score


def draw(seed: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """Queries, keys and values of 4 and 2 heads; matrices W, W1, W2 and a vector v for the scores."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [(2, 3, 4, 5), (2, 6, 2, 5), (2, 6, 2, 3), (4, 5, 5), (4, 7, 5), (4, 7, 5), (4, 7)]
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]


def scores(kind: str, tensors: list[Tensor]) -> Score:
    return General(tensors[3]) if kind == "general" else Additive(*tensors[4:])


def by_loops(kind: str, tensors: list[Tensor], may_read: Tensor) -> Tensor:
    q, k, v, w, w1, w2, u = tensors
    y = q.new_zeros(2, 3, 4, 3)
    for row in range(2):
        for i in range(3):
            for h in range(4):
                read = may_read[row, i].nonzero()[:, 0].tolist()
                if not read:
                    continue
                pairs = [(q[row, i, h], k[row, j, h // 2]) for j in read]
                if kind == "general":
                    numbers = [a @ w[h] @ b for a, b in pairs]
                else:
                    numbers = [u[h] @ (w1[h] @ a + w2[h] @ b).tanh() for a, b in pairs]
                weights = torch.stack(numbers).softmax(0)
                y[row, i, h] = sum(weight * v[row, j, h // 2] for weight, j in zip(weights, read, strict=True))
    return y


@pytest.mark.parametrize("kind", ["general", "additive"])
def test_scores_and_gradients_of_their_parameters_equal_a_loop_over_pairs(kind: str) -> None:
    tensors = [x.requires_grad_() for x in draw(0)]
    valid = torch.tensor([[False, True, True, False, True, True], [True] * 6])
    may_read = valid[:, None] & torch.ones(3, 6, dtype=torch.bool).tril()
    y = attend(tensors[0], tensors[1], tensors[2], Causal(), Valid(valid), score=scores(kind, tensors))
    loops = by_loops(kind, tensors, may_read)
    torch.testing.assert_close(y, loops)
    used = tensors[:4] if kind == "general" else [*tensors[:3], *tensors[4:]]
    torch.testing.assert_close(*(torch.autograd.grad(x.square().sum(), used) for x in (y, loops)))


@pytest.mark.parametrize("kind", ["general", "additive"])
@pytest.mark.parametrize("backend", list(BACKENDS))
def test_every_backend_serves_a_score_or_names_it(backend: str, kind: str) -> None:
    tensors = draw(1)
    answer: Tensor | str
    try:
        answer = attend(tensors[0], tensors[1], tensors[2], score=scores(kind, tensors), backend=backend)
    except ConfigError as refusal:
        answer = str(refusal)
    if isinstance(answer, str):
        assert backend != "reference"
        assert answer.startswith(f"backend='{backend}' cannot serve Full(): ")
    else:
        torch.testing.assert_close(answer, by_loops(kind, tensors, torch.ones(2, 3, 6, dtype=torch.bool)))


def test_a_backend_of_products_names_the_score_that_is_none() -> None:
    tensors = draw(2)
    with pytest.raises(
        ConfigError, match=r"backend='dense' cannot serve Full\(\): its score is a product, not Additive"
    ):
        attend(tensors[0], tensors[1], tensors[2], score=Additive(*tensors[4:]), backend="dense")


def test_a_general_score_of_identities_is_the_product() -> None:
    q, k, v, *_ = draw(3)
    w = torch.eye(5, dtype=torch.float64).expand(4, 5, 5)
    torch.testing.assert_close(attend(q, k, v, score=General(w)), attend(q, k, v, score="dot"))


@pytest.mark.parametrize("kind", ["general", "additive"])
def test_a_bias_is_added_to_a_score_with_parameters(kind: str) -> None:
    tensors = draw(4)
    bias = torch.full((1, 1, 3, 6), float("-inf"), dtype=torch.float64).triu(1)
    score = scores(kind, tensors)
    with_bias = attend(tensors[0], tensors[1], tensors[2], score=score, bias=bias)
    torch.testing.assert_close(with_bias, attend(tensors[0], tensors[1], tensors[2], Causal(), score=score))


@pytest.mark.parametrize("kind", ["general", "additive"])
def test_half_precision_meets_parameters_of_either_precision(kind: str) -> None:
    exact, half = draw(5), draw(5, torch.bfloat16)
    wanted = attend(exact[0], exact[1], exact[2], score=scores(kind, exact))
    for parameters in (half, [x.float() for x in exact]):
        y = attend(half[0], half[1], half[2], score=scores(kind, parameters))
        assert y.dtype == torch.bfloat16
        torch.testing.assert_close(y.double(), wanted, atol=0.1, rtol=0)


@pytest.mark.parametrize("shape", [(2, 5, 5), (4, 6, 6)])
def test_a_general_score_for_other_heads_or_channels_is_refused(shape: tuple[int, ...]) -> None:
    q, k, v, *_ = draw(6)
    with pytest.raises(InputError, match=rf"General\(w of \({shape[0]}, .*\)\) for 4 heads of 5 channels"):
        attend(q, k, v, score=General(torch.zeros(shape, dtype=torch.float64)))


@pytest.mark.parametrize("shape", [(2, 7, 5), (4, 7, 6)])
def test_an_additive_score_for_other_heads_or_channels_is_refused(shape: tuple[int, ...]) -> None:
    q, k, v, *_ = draw(7)
    w = torch.zeros(shape, dtype=torch.float64)
    with pytest.raises(InputError, match=r"Additive\(w1 of .*\) for 4 heads of 5 channels"):
        attend(q, k, v, score=Additive(w, w, w[..., 0]))
