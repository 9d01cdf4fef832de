"""What `attend` refuses, and that the text repeats the value."""

import subprocess
import sys

import pytest
import torch
from torch import Tensor

from zoo.core import (
    ALiBi,
    Blocks,
    Causal,
    ConfigError,
    Explicit,
    Globals,
    InputError,
    Kernel,
    Lengths,
    Neighbourhood,
    RelativeTable,
    Shaw,
    TransformerXL,
    Valid,
    Window,
    attend,
)
from zoo.core.engine.validation import check, check_kinds, check_placed, check_start
from zoo.core.patterns.pattern import Pattern
from zoo.core.scoring.bias import Bias, Dense
from zoo.core.scoring.relative_bias import check_shape

VECTORS: tuple[Tensor, Tensor, Tensor] = (torch.ones(2, 3, 2, 8), torch.ones(2, 3, 1, 8), torch.ones(2, 3, 1, 6))
"""Queries, keys and values of two rows, which fit each other."""
SQUARE = Explicit(torch.ones(3, 3, dtype=torch.bool))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"score": "cosine"}, r"score='cosine' is not one of scaled_dot, dot"),
        ({"dropout": 1.0}, r"dropout=1.0 is not in \[0, 1\)"),
        ({"backend": "magic"}, r"backend='magic' is not one of auto, "),
        ({"backend": "dense", "return_weights": True}, r"backend='dense' cannot serve Full\(\): it keeps no weights"),
        ({"pattern": Explicit(torch.ones(2, 2, dtype=torch.bool))}, r"mask of \(2, 2\) .* is read at \(3, 3\)"),
        ({"pattern": Explicit(torch.ones(5, 3, 3, dtype=torch.bool))}, r"mask of 5 rows and 1 heads for a batch of 2"),
        ({"keys": Lengths(torch.tensor([1, 9]))}, r"0 … 3, the number of keys; got \[1, 9\]"),
        (
            {"pattern": SQUARE, "q_start": -1},
            r"q_start=-1: Explicit\(3 x 3, 9 pairs\) says nothing of positions before 0",
        ),
        ({"pattern": Causal() & SQUARE, "q_start": -2}, r"q_start=-2: Causal\(\) & Explicit\("),
        ({"pattern": SQUARE, "q_start": torch.tensor([0, -3])}, r"q_start=\[0, -3\]: Explicit"),
        (
            {"pattern": SQUARE, "k_positions": torch.tensor([[0, 1, 2], [-1, 0, 1]])},
            r"k_positions=\[\[0, 1, 2\], \[-1, 0",
        ),
        ({"q_start": torch.tensor(1)}, r"q_start of shape \(\) for a batch of 2: one number, or one a row"),
        ({"q_start": torch.tensor([1, 2, 3])}, r"q_start of shape \(3,\) for a batch of 2"),
        ({"bias": Dense(torch.zeros(1, 3, 1, 3))}, r"bias of shape \(1, 3, 1, 3\) for \(batch, .*\) = \(2, 2, 3, 3\)"),
        ({"bias": RelativeTable(torch.zeros(3, 5), 2)}, "RelativeTable of 3 heads for 2 heads of queries"),
        ({"keys": Lengths(torch.tensor([1]))}, r"Lengths of \(1,\) for a batch of 2"),
        ({"keys": Valid(torch.ones(2, 4, dtype=torch.bool))}, r"boolean mask of \(2, 3\); got \(2, 4\)"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_value(change: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        attend(*VECTORS, **change)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("shapes", "text"),
    [
        (((2, 3, 4, 0), (2, 3, 4, 0), (2, 3, 4, 8)), "heads of no channels"),
        (((2, 3, 4, 8), (2, 3, 3, 8), (2, 3, 3, 8)), "4 query heads are not a multiple of 3 heads"),
        (((2, 3, 4, 8), (2, 3, 4, 7), (2, 3, 4, 8)), "do not fit each other"),
        (((2, 3, 4, 8), (1, 3, 4, 8), (1, 3, 4, 8)), "do not fit each other"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes: tuple[tuple[int, ...], ...], text: str) -> None:
    q, k, v = (torch.zeros(shape) for shape in shapes)
    with pytest.raises(InputError, match=text):
        check(q, k, v, "dot", 0.0)  # which `attend` asks first; its own annotations are checked in tests only


def test_lengths_that_are_no_tensor_are_refused_with_what_to_write() -> None:
    keys = object.__new__(Lengths)  # whose annotation is checked in tests only
    object.__setattr__(keys, "t", [3, 7])
    with pytest.raises(InputError, match=r"t=\[3, 7\] of Lengths is no tensor: torch.tensor\(\[3, 7\]\) is"):
        attend(*VECTORS, keys=keys)


def test_a_bias_of_numbers_that_are_no_tensor_is_refused() -> None:
    with pytest.raises(InputError, match=r"slopes of ALiBi is 3: it is a tensor \(heads,\)"):
        check_shape(ALiBi(torch.ones(1)), "slopes", 3, "(heads,)")


def test_a_bias_without_all_axes_is_refused_for_that() -> None:
    bias = object.__new__(Dense)
    object.__setattr__(bias, "added", torch.zeros(4, 3, 3))
    with pytest.raises(InputError, match=r"bias of shape \(4, 3, 3\) is not \(batch, heads, queries, keys\)"):
        check_placed(*VECTORS, bias, None)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (("causal", None, None, "softmax"), "pattern='causal' is no Pattern"),
        ((Causal, None, None, "softmax"), "is no Pattern, such as Causal"),
        ((Causal(), torch.tensor([1, 2]), None, "softmax"), r"keys=tensor\(\[1, 2\]\) is no Keys"),
        (
            (Causal(), None, torch.ones(1, 1, 3, 3, dtype=torch.bool), "softmax"),
            "bias is of torch.bool: a mask is given as",
        ),
        ((Causal(), None, None, Kernel), "Kernel'> is not softmax, nor a Kernel or Hard"),
        ((Causal(), None, None, "sum"), "norm='sum' is not softmax"),
    ],
)
def test_what_is_of_another_kind_is_refused(given: tuple[object, ...], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        check_kinds(*given)  # which `attend` asks first, see above


@pytest.mark.parametrize(
    ("bias", "positions", "text"),
    [
        (None, torch.zeros(2, 4, dtype=torch.long), r"k_positions of shape \(2, 4\) .* for \(batch, keys\) = \(2, 3\)"),
        (None, torch.zeros(2, 3), r"k_positions of shape \(2, 3\) and torch.float32 .* whole numbers"),
        (ALiBi(torch.ones(3)), None, "ALiBi of 3 heads for 2 heads of queries"),
        (Shaw(torch.ones(3, 5, 8), None, 2), None, "Shaw of 3 heads for 2 heads of queries"),
        (Shaw(torch.ones(1, 5, 7), None, 2), None, "Shaw holds vectors of 7 channels for heads of 8"),
        (Shaw(torch.ones(1, 5, 8), torch.ones(1, 5, 8), 2), None, "Shaw holds vectors of 8 channels for heads of 6"),
        (
            TransformerXL(torch.ones(2, 8), torch.ones(2, 8), torch.ones(2, 5, 8), -2),
            None,
            None,
        ),
        (
            TransformerXL(torch.ones(2, 4), torch.ones(2, 4), torch.ones(2, 5, 4), -2),
            None,
            "TransformerXL holds vectors of 4 channels for heads of 8",
        ),
    ],
)
def test_a_bias_and_positions_that_do_not_fit_are_refused(
    bias: Bias | None, positions: Tensor | None, text: str | None
) -> None:
    tensors = VECTORS
    if text is None:
        check_placed(*tensors, bias, positions)
        return
    with pytest.raises(InputError, match=text):
        check_placed(*tensors, bias, positions)


@pytest.mark.parametrize(
    ("start", "text"),
    [
        (1.5, "q_start=1.5 is no whole number, nor a tensor of one for each row"),
        (True, "q_start=True is no whole number"),
        (torch.tensor([0.0, 1.0]), "q_start is of torch.float32: positions are whole numbers"),
        (torch.tensor([True, False]), "q_start is of torch.bool"),
    ],
)
def test_a_start_that_is_no_position_is_refused(start: object, text: str) -> None:
    with pytest.raises(InputError, match=text):
        check_start(start, 2)


@pytest.mark.parametrize(
    ("pattern", "length", "text"),
    [
        (Globals((0, 4)), 4, "globals:0,4 names position 4, and the 4 there are end at 3"),
        (Window(1) | Globals((9,)), 4, "globals:9 names position 9, and the 4"),
        (Blocks(2, ((0,), (1,))), 5, r"has 2 blocks of 2, and 5 positions make 3"),
        (Neighbourhood(2, 2, 1), 5, "is a grid of 2 x 2: 4 positions; got 5 queries from 0 on and 5 keys"),
    ],
)
def test_a_pattern_for_another_number_of_positions_is_refused(pattern: Pattern, length: int, text: str) -> None:
    x = torch.randn(1, length, 1, 4)
    with pytest.raises(InputError, match=text):
        attend(x, x, x, pattern)


TOLD = """
import torch
from torch import nn
from zoo.core import *

x = torch.randn(2, 3, 8)
q = torch.randn(2, 3, 2, 4)
state = Decoder(8, 1, 2, 8).state(2)
for ask, text in (
    (lambda: Encoder(8, 1, 2, 8)(x), "a tensor of (2, 3, 8) where Tokens belong: wrap vectors (batch,"),
    (lambda: list(Encoder(8, 1, 2, 8).states(x)), "a tensor of (2, 3, 8) where Tokens belong"),
    (lambda: Decoder(8, 1, 2, 8)(x), "a tensor of (2, 3, 8) where Tokens belong"),
    (lambda: Decoder(8, 1, 2, 8, cross=Attention)(Tokens(x), x), "a tensor of (2, 3, 8) where Tokens belong"),
    (lambda: Decoder(8, 1, 2, 8)([1]), "a list where Tokens belong"),
    (lambda: Attention(8, 2)(x), "a tensor of (2, 3, 8) where Tokens belong"),
    (lambda: as_attention(x), "a Tensor is no nn.Conv2d"),
    (lambda: as_attention(nn.Linear(2, 3)), "Linear(in_features=2, out_features=3, bias=True) is no nn.Conv2d"),
    (lambda: as_attention(nn.Conv2d(8, 8, 3))(x), "a tensor of (2, 3, 8) where Tokens belong"),
    (lambda: state.reorder(torch.tensor([0, 2])), "rows [0, 2] are taken of a state of 2: at least one, each in 0 … 1"),
    (lambda: attend(q, q, q, q_start=1.5), "q_start=1.5 is no whole number"),
    (lambda: attend(q, q, q, bias=torch.ones(1, 1, 3, 3, dtype=torch.long)), "bias is of torch.int64: it is added"),
    (lambda: attend(q, q, q, bias=torch.ones(3, 3)), "bias of shape (3, 3) is not (batch, heads, queries, keys)"),
    (lambda: attend(q, q, q, bias=RelativeTable(torch.ones(3), 1)), "table of RelativeTable is of shape (3,): it is"),
    (lambda: attend(q, q, q, bias=RelativeTable(torch.ones(2, 0), 1)), "table of RelativeTable is of shape (2, 0)"),
    (lambda: Shaw(torch.ones(3, 4), None, 1), "a_k of Shaw is of shape (3, 4): it is (heads or 1, offsets, channels)"),
):
    try:
        ask()
    except (InputError, ConfigError) as error:
        assert text in str(error), f"{text!r} is not in {str(error)!r}"
    else:
        raise AssertionError(text)
"""


@pytest.mark.slow
def test_what_is_no_input_is_refused_in_words_also_without_type_checks() -> None:
    # in a process of its own, since the type checks of the tests would refuse it first
    done = subprocess.run([sys.executable, "-c", TOLD], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
