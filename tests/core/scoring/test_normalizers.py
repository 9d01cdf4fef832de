"""Hard attention: what is read and how it is drawn; and the features of kernels."""

import pytest
import torch
from torch import Tensor

from zoo.core import Causal, ConfigError, Full, Hard, Kernel, Pattern, Valid, attend
from zoo.core.backends import BACKENDS
from zoo.core.scoring.normalizers import choose, elu_features


def draw(seed: int, q: int, k: int, h: int = 2, b: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    made = [torch.randn(b, n, h, 4, generator=generator, dtype=torch.float64) for n in (q, k, k)]
    return made[0], made[1], made[2]


def test_the_best_key_alone_is_read() -> None:
    q, k, v = draw(0, 3, 5)
    y = attend(q, k, v, norm=Hard())
    for i in range(3):
        for head in range(2):
            best = int((k[0, :, head] @ q[0, i, head]).argmax())
            torch.testing.assert_close(y[0, i, head], v[0, best, head], atol=0, rtol=0)


@pytest.mark.parametrize("sample", [False, True])
def test_only_a_key_that_may_be_read_is_chosen(sample: bool) -> None:
    torch.manual_seed(0)
    q, k, v = draw(1, 40, 40)
    valid = torch.rand(1, 40) < 0.5
    valid[0, :3] = False  # three queries with nothing to read
    _, chosen = attend(q, k, v, Causal(), Valid(valid), norm=Hard(sample), return_weights=True)
    may_read = valid[:, None] & torch.ones(40, 40, dtype=torch.bool).tril()
    assert not chosen.masked_select(~may_read).any()
    torch.testing.assert_close(chosen.sum(-1), may_read.any(-1)[:, None].expand(1, 2, 40).double())


@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize("keys", [0, 3])
def test_a_query_with_nothing_to_read_gives_zero(sample: bool, keys: int) -> None:
    q, k, v = draw(2, 2, keys)
    y = attend(q, k, v, keys=Valid(torch.zeros(1, keys, dtype=torch.bool)), norm=Hard(sample))
    assert y.shape == (1, 2, 2, 4)
    assert not y.any()


@pytest.mark.parametrize("sample", [False, True])
def test_rows_of_no_queries_are_chosen_for(sample: bool) -> None:
    assert choose(torch.zeros(2, 0, 3), Hard(sample)).shape == (2, 0, 3)


def test_keys_are_drawn_as_often_as_the_softmax_says() -> None:
    torch.manual_seed(0)
    q, k, v = (x.expand(4000, -1, -1, -1) for x in draw(3, 1, 4))
    _, chosen = attend(q, k, v, norm=Hard(sample=True), return_weights=True)
    _, soft = attend(q[:1], k[:1], v[:1], return_weights=True)
    torch.testing.assert_close(chosen.mean(0), soft[0], atol=4 * 0.5 / 4000**0.5, rtol=0)


def test_the_value_that_was_read_gets_the_gradient_and_the_choice_none() -> None:
    q, k, v = (x.requires_grad_() for x in draw(4, 1, 3, h=1))
    y, chosen = attend(q, k, v, norm=Hard(), return_weights=True)
    gradients = torch.autograd.grad(y.sum(), (q, k, v), allow_unused=True)
    assert gradients[0] is None
    assert gradients[1] is None
    torch.testing.assert_close(gradients[2], chosen[0, 0, 0][None, :, None, None].expand(1, 3, 1, 4))


def test_features_are_positive_and_smooth_at_zero() -> None:
    torch.testing.assert_close(elu_features(torch.tensor([[-1.0, 0.0, 2.0]])), torch.tensor([[0.36788, 1.0, 3.0]]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_features_are_positive_down_to_where_the_exponential_ends(dtype: torch.dtype) -> None:
    x = torch.linspace(-85, 3, 1000, dtype=dtype)[None].requires_grad_()
    exact = x.detach().double()
    (gradient,) = torch.autograd.grad(elu_features(x).sum(), x)
    wanted = exact.exp().where(exact < 0, exact + 1), exact.exp().where(exact < 0, 1)
    for got, true in zip((elu_features(x).detach(), gradient), wanted, strict=True):
        torch.testing.assert_close(got.double(), true, rtol=4 * torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("pattern", [Full(), Causal()])
@pytest.mark.parametrize("backend", ["linear", "reference"])
def test_a_kernel_of_far_negative_keys_is_that_of_float64(pattern: Pattern, backend: str) -> None:
    tensors = [x - 25 * (n < 2) for n, x in enumerate(draw(9, 6, 6))]
    answers = []
    for dtype in (torch.float32, torch.float64):
        q, k, v = (x.to(dtype).requires_grad_() for x in tensors)
        y = attend(q, k, v, pattern, norm=Kernel(), backend=backend)
        answers.append([y, *torch.autograd.grad(y.sin().sum(), (q, k, v))])
    for got, wanted in zip(*answers, strict=True):
        torch.testing.assert_close(got.double(), wanted, rtol=1e-4, atol=1e-5)
    assert answers[0][0].abs().max() > 0.1


def test_a_kernel_counts_its_features_and_names_itself() -> None:
    assert Kernel(lambda x: torch.cat([x, x, x], dim=-1)).width(4, torch.bfloat16, "cpu") == 12
    assert repr(Kernel()) == "Kernel(elu_features)"


@pytest.mark.parametrize("norm", [Hard(), Hard(sample=True), Kernel()])
def test_a_forced_backend_that_cannot_do_a_norm_names_both(norm: Hard | Kernel) -> None:
    with pytest.raises(
        ConfigError, match=r"backend='dense' cannot serve Full\(\): it knows only softmax, not"
    ) as error:
        attend(*draw(7, 2, 2), norm=norm, backend="dense")
    assert repr(norm) in str(error.value)


@pytest.mark.parametrize("backend", list(BACKENDS))
def test_every_backend_that_serves_the_best_key_gives_it(backend: str) -> None:
    q, k, v = draw(8, 4, 4)
    wanted = attend(q, k, v, Causal(), norm=Hard(), backend="reference")
    answer: Tensor | str
    try:
        answer = attend(q, k, v, Causal(), norm=Hard(), backend=backend)
    except ConfigError as refusal:
        answer = str(refusal)
    if isinstance(answer, str):
        assert answer.startswith(f"backend='{backend}' cannot serve Causal(): ")
    else:
        torch.testing.assert_close(answer, wanted)
