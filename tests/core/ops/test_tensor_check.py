"""What is no tensor, given to every kind of model."""

from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch

import zoo
from zoo import InputError
from zoo.core import check_tensor
from zoo.core.ops.tensor_check import bounds

MODELS = ["vit-micro", "hybrid-micro", "resnet-micro", "conformer-vision-micro", "bert-tiny", "decoder-tiny",
          "transformer-tiny", "nat-base", "speech-tiny", "wav2vec2-base", "conformer-tiny", "speech-synthesis-tiny",
          "graph-tiny", "gat-cora"]  # fmt: skip
RAW: list[Any] = ["a text", ["two", "texts"], [Path("cat.jpg")], np.zeros((2, 9)), [torch.zeros(3)]]


@pytest.fixture
def unchecked() -> Any:
    """Switch off the checks of shapes and types that only tests have: users see what the code says itself."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_says_what_it_was_given_and_what_makes_tensors(name: str, unchecked: None) -> None:
    model: Any = zoo.create(name, device="meta").eval()
    calls = [model, model.forward_features, model.attention_maps]
    calls += [model.generate] if hasattr(model, "generate") else []
    for call in calls:
        for raw in RAW[:3]:
            with pytest.raises(InputError, match=r"zoo\.preprocess\(NAME\) makes") as caught:
                call(raw)
            shown = raw if isinstance(raw, str) else raw[0]
            assert str(shown) in str(caught.value)
        for raw in RAW[3:]:
            with pytest.raises(InputError, match=r"ndarray|list"):
                call(raw)


def test_a_prompt_that_is_a_text_is_named(unchecked: None) -> None:
    model: Any = zoo.create("transformer-tiny").eval()
    with pytest.raises(InputError, match="prompt='one' is of type str, not a tensor"):
        model.generate(torch.ones(1, 3).long(), prompt="one")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("hello", r"ids='hello' is of type str, not a tensor: zoo\.preprocess\(NAME\) makes tensors of raw inputs"),
        ("x" * 999, r"ids='xxx\S{,40} is of type str"),
        (np.zeros((2, 3)), r"ids of shape \(2, 3\) is of type ndarray, not a tensor: write torch\.from_numpy\(ids\)"),
        ((torch.zeros(1), torch.ones(1)), r"type tuple, not a tensor: unpack the inputs, as model\(\*inputs\)"),
        ([torch.zeros(2)], r"type list, not a tensor: .* pad them to one length and write torch\.stack"),
        (None, "ids=None is of type NoneType, not a tensor"),
    ],
)
def test_the_error_repeats_the_value_briefly_and_says_what_to_do(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_tensor(value, "ids")


def test_every_tensor_passes() -> None:
    for tensor in (torch.zeros(0), torch.nn.Parameter(torch.zeros(1)), torch.zeros(1, device="meta")):
        check_tensor(tensor, "x")


def test_bounds_are_the_least_and_the_largest_as_numbers() -> None:
    assert bounds(torch.tensor([[3, -1], [7, 2]])) == (-1, 7)
    assert bounds(torch.tensor([5], dtype=torch.int32)) == (5, 5)
