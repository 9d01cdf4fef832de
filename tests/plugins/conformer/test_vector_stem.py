"""Vectors as they are given: what behind a row is not read, and what is refused."""

from typing import Any

import pytest
import torch

import zoo
from zoo.errors import ConfigError, InputError
from zoo.plugins.conformer.vector_stem import VectorStem

SIZES: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 24, "task": "tag", "num_classes": 3}


@pytest.mark.usefixtures("float64")
def test_a_row_is_answered_as_alone() -> None:
    model: Any = zoo.create("conformer-tiny", stem="vectors", **SIZES).eval()
    x = torch.randn(2, 7, 16)
    x[1, 4:] = torch.nan
    y = model(x, torch.tensor([7, 4]))
    torch.testing.assert_close(y[1, :4], model(x[1:, :4])[0])
    assert not y[1, 4:].any()


def test_what_are_no_vectors_is_refused() -> None:
    stem = VectorStem(16)
    for x in (torch.zeros(2, 16), torch.zeros(2, 3, 8), torch.zeros(2, 3, 16, dtype=torch.long)):
        with pytest.raises(InputError, match=r"made with stem='vectors', reads \(batch, length, 16\)"):
            stem(x)
    with pytest.raises(InputError, match="sound 1 of 4 vectors: there are 3"):
        stem(torch.zeros(2, 3, 16), torch.tensor([3, 4]))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"window": 640}, "window=640, .* attention='window:16'"),
        ({"position": "sinusoidal"}, "position='sinusoidal' with stem='vectors'"),
        ({"stem": "waves"}, "stem='waves' is not one of mel, wave, vectors"),
    ],
)
def test_options_of_another_stem_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        zoo.create("conformer-tiny", **{"stem": "vectors", **SIZES, **options})


def test_it_does_not_stream() -> None:
    model: Any = zoo.create("conformer-tiny", stem="vectors", **SIZES)
    with pytest.raises(ConfigError, match="stem='vectors' reads no samples"):
        model.stream()
