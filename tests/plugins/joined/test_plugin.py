"""Names of joined models, and the inputs and answers behind them."""

import pytest
import torch

import zoo


@pytest.mark.parametrize("name", ["joined:vit-micro+decoder-tiny", "joined:vision:vit-micro+text:decoder-tiny"])
def test_a_name_makes_a_model_and_its_example(name: str) -> None:
    model = zoo.create(name)
    assert model.spec.name == name
    assert model(*zoo.example(name)).shape == (2, 16, 260)
    assert model.spec.parameters == sum(weights.numel() for weights in model.parameters())


def test_texts_before_and_behind_are_those_of_the_parts() -> None:
    ids, there = zoo.preprocess("joined:bert-micro+decoder-tiny")(["ab"])
    alone = zoo.preprocess("bert-micro")(["ab"])
    assert torch.equal(ids, alone[0])
    assert torch.equal(there, alone[1])
    bytes_of = zoo.preprocess("decoder-tiny")(["ab"])[0].tolist()
    assert zoo.postprocess("joined:vit-micro+decoder-tiny")(bytes_of) == ["ab"]


def test_a_picture_is_read_as_by_its_encoder() -> None:
    assert repr(zoo.preprocess("joined:vit-micro+decoder-tiny")) == repr(zoo.preprocess("vit-micro"))


def test_a_name_without_a_plus_is_nobodys() -> None:
    with pytest.raises(zoo.UnknownModelError):
        zoo.info("vit-nothing-micro")
