"""The operations counter: against published figures, torch's own counter, and the growth that each pattern promises."""

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import zoo
from zoo.core.engine.dispatch import attend
from zoo.core.flops import Operations, count
from zoo.core.layers.attention import Attention
from zoo.core.layers.transformer import Encoder
from zoo.core.patterns.basic import Causal, Explicit
from zoo.core.patterns.local import Window
from zoo.core.patterns.padding import Lengths
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.tokens import Tokens


def of(model: nn.Module, *shape: int) -> Operations:
    return count(model, Tokens(torch.empty(shape, device="meta")))


@pytest.mark.parametrize("heads", [1, 8])
def test_one_head_costs_what_many_cost(heads: int) -> None:
    found = of(Attention(512, heads, bias=False), 32, 1024, 512)
    assert found.multiply_adds - found.modules["out"] // 2 == 60_129_542_144
    assert found.multiply_adds == 68_719_476_736


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("vit-tiny", 1.25), ("vit-small", 4.60), ("vit-base-p32", 4.41), ("vit-base", 17.56), ("vit-large-p32", 15.38),
        ("vit-large", 61.55), ("vit-huge", 167.3), ("resnet-18", 1.81),
    ],
)  # fmt: skip
def test_published_operations_of_one_picture(name: str, billions: float) -> None:
    model = zoo.create(name, device="meta").eval()
    assert count(model, *zoo.example(name, 1)).multiply_adds == pytest.approx(billions * 1e9, rel=0.004)


@pytest.mark.parametrize(
    ("name", "epochs", "exaflops"),
    [
        ("vit-base-p32", 7, 55), ("vit-base", 7, 224), ("vit-large-p32", 7, 196), ("vit-large", 7, 783),
        ("vit-large", 14, 1567), ("vit-huge", 14, 4262),
    ],
)  # fmt: skip
def test_pretraining_costs_what_table_6_of_vit_says(name: str, epochs: int, exaflops: int) -> None:
    forward = count(zoo.create(name, device="meta"), *zoo.example(name, 1)).total
    assert 3 * forward * 302.9e6 * epochs == pytest.approx(exaflops * 1e18, rel=0.02)


@pytest.mark.parametrize("name", ["vit-micro", "resnet-micro", "hybrid-micro"])
def test_it_agrees_with_torchs_counter_where_that_sees_the_kernels(name: str) -> None:
    model, inputs = zoo.create(name).eval(), zoo.example(name, 2)
    theirs = FlopCounterMode(display=False)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), theirs:  # it does not see the fused kernel of CPUs
        model(*inputs)
    assert count(model, *inputs).total == theirs.get_total_flops()


class Attend(nn.Module):
    def __init__(self, pattern: Pattern, backend: str = "auto") -> None:
        super().__init__()
        self.pattern = pattern
        self.backend = backend

    def forward(self, x: Tensor) -> Tensor:
        return attend(x, x, x, self.pattern, backend=self.backend)


def pairs(pattern: Pattern, length: int) -> int:
    return count(Attend(pattern), torch.empty(1, length, 2, 8)).total


def test_full_attention_is_quadratic_in_the_length() -> None:
    assert pairs(Full(), 2048) == 4 * pairs(Full(), 1024) == 4 * (4 * 2 * 1024**2 * 8)


def test_windowed_attention_is_linear_in_the_length() -> None:
    assert pairs(Window(16), 8192) / pairs(Window(16), 4096) <= 2.1


def test_recurrence_is_linear_in_the_length_and_quadratic_in_the_width() -> None:
    def cost(length: int, dim: int) -> int:
        return count(nn.RNN(dim, dim, batch_first=True), torch.empty(1, length, dim)).total

    assert cost(20, 8) == 2 * cost(10, 8)
    assert cost(10, 16) == 4 * cost(10, 8)


def test_convolution_is_linear_in_kernel_and_length() -> None:
    def cost(length: int, kernel: int) -> int:
        return count(nn.Conv1d(8, 8, kernel, padding=kernel // 2), torch.empty(1, 8, length)).total

    assert cost(20, 3) == 2 * cost(10, 3) == 2 * (2 * 10 * 3 * 8 * 8)
    assert cost(10, 9) == 3 * cost(10, 3)


def test_attention_and_the_rest_are_told_apart_by_module() -> None:
    found = of(Encoder(8, 2, 2, 16), 1, 5, 8)
    assert found.attention == 2 * (4 * 5 * 5 * 8)
    assert found.other == 2 * 2 * (5 * 8 * (24 + 8 + 16 + 16))
    assert found.modules["blocks.1.attention"] == 4 * 5 * 5 * 8 + 2 * 5 * 8 * 32
    assert sum(found.modules[f"blocks.{i}"] for i in range(2)) == found.total


def test_a_forced_backend_is_counted() -> None:
    x = torch.empty(1, 4096, 2, 8)
    assert count(Attend(Window(16), "dense"), x).total == count(Attend(Full()), x).total > pairs(Window(16), 4096)


def test_foreign_attention_is_counted() -> None:
    class Foreign(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return nn.functional.scaled_dot_product_attention(x, x, x)

    assert count(Foreign(), torch.empty(2, 3, 5, 8)).multiply_adds == 2 * (2 * 3 * 5 * 5 * 8)


def test_the_kernel_of_cpus_is_two_products() -> None:
    class Kernel(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(x, x, x)[0]

    assert count(Kernel(), torch.empty(2, 3, 5, 8)).multiply_adds == 2 * (2 * 3 * 5 * 5 * 8)


def test_the_model_is_left_as_it_was() -> None:
    model = zoo.create("resnet-micro").train()
    before = copy.deepcopy(model.state_dict())
    count(model, *zoo.example("resnet-micro"))
    assert model.training
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def test_nothing_is_computed() -> None:
    class Loud(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            assert x.is_meta
            assert self.weight.is_meta
            return super().forward(x)

    assert count(nn.Sequential(Loud(3, 4), Loud(4, 5)), torch.randn(2, 3)).multiply_adds == 2 * (12 + 20)


def test_lengths_and_token_numbers_keep_their_values() -> None:
    class Text(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(10, 8)
            self.encoder = Encoder(8, 1, 2, 16)

        def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
            return self.encoder(Tokens(self.table(ids), keys=Lengths(lengths))).x

    assert count(Text(), torch.ones(2, 5, dtype=torch.long), torch.tensor([5, 3])).attention == 2 * (4 * 5 * 5 * 8)


def test_integers_that_meet_vectors_become_shapes() -> None:
    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 4)

        def forward(self, x: Tensor, valid: Tensor) -> Tensor:
            return self.linear(x * valid[:, None])

    assert count(Masked(), torch.randn(2, 3), torch.ones(2, dtype=torch.bool)).multiply_adds == 24


def test_a_mask_in_the_tokens_keeps_its_values() -> None:
    tokens = Tokens(torch.randn(1, 4, 8), pattern=Explicit(torch.eye(4, dtype=torch.bool)) & Causal())
    assert count(Attention(8, 2), tokens).other == 2 * (4 * 8 * 32)


def test_inputs_in_lists_and_dictionaries_are_read() -> None:
    class Several(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 4)

        def forward(self, parts: list[Tensor], named: dict[str, Tensor]) -> Tensor:
            return self.linear(parts[0] + named["x"])

    assert count(Several(), [torch.randn(2, 3)], {"x": torch.randn(2, 3)}).multiply_adds == 24


def test_a_model_that_asks_for_values_says_so() -> None:
    class Asks(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * float(x.sum())

    with pytest.raises(RuntimeError, match="meta"):
        count(Asks(), torch.randn(2))
