from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.data.corpus import Batch
from zoo.errors import ConfigError
from zoo.training.fine_tuning.checkpointing import Checkpointed


def objective(forward: Any, batch: Batch, step: int) -> Tensor:
    return forward(*batch.inputs).square().sum()


def test_gradients_are_the_same_and_blocks_go_forward_twice() -> None:
    model = zoo.create("vit-micro", depth=2, dim=16, num_heads=2, mlp_dim=16, patch_size=4, image_size=8).double()
    batch = Batch((torch.randn(2, 3, 8, 8, dtype=torch.float64),), torch.zeros(2))
    objective(model, batch, 0).backward()
    plain = [each.grad.clone() for each in model.parameters() if each.grad is not None]
    model.zero_grad()
    calls: list[None] = []
    model.encoder.blocks[0].attention.register_forward_hook(lambda *_: calls.append(None))
    Checkpointed(objective, model)(model, batch, 0).backward()
    for ours, theirs in zip((each.grad for each in model.parameters() if each.grad is not None), plain, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert len(calls) == 2


def test_stages_of_a_cnn_are_computed_again() -> None:
    model: Any = zoo.create("resnet-micro").double().train()
    batch = Batch((torch.randn(2, 3, 32, 32, dtype=torch.float64),), torch.zeros(2))
    objective(model, batch, 0).backward()
    plain = [each.grad.clone() for each in model.parameters()]
    model.zero_grad()
    calls: list[None] = []
    model.net.layer1[0].conv1.register_forward_hook(lambda *_: calls.append(None))
    Checkpointed(objective, model)(model, batch, 0).backward()
    for ours, theirs in zip(model.parameters(), plain, strict=True):
        torch.testing.assert_close(ours.grad, theirs)
    assert len(calls) == 2
    objective(model, batch, 0).backward()
    assert len(calls) == 3  # it is left as it was


@pytest.mark.parametrize("name", ["lstm-lm-micro", "rnn-tiny", "rnn-attention-tiny", "caption-rnn-tiny"])
def test_recurrent_decoders_are_computed_again(name: str) -> None:
    torch.manual_seed(0)
    model: Any = zoo.create(name, dropout=0.1).double().train()
    drawn = zoo.example(name)
    inputs = tuple(x.double() if x.is_floating_point() else x for x in drawn)

    def gradients(loss: Any) -> list[Tensor]:
        torch.manual_seed(1)
        model.zero_grad()
        loss(model, Batch(inputs, torch.zeros(2)), 0).backward()
        return [each.grad.clone() for each in model.parameters() if each.grad is not None]

    plain = gradients(objective)
    calls: list[None] = []
    model.decoder.cell.register_forward_hook(lambda *_: calls.append(None))
    again = gradients(Checkpointed(objective, model))
    once = len(calls) // 2
    gradients(objective)
    assert len(calls) == 3 * once > 0
    torch.testing.assert_close(again, plain)


def test_a_model_without_blocks_is_refused() -> None:
    with pytest.raises(ConfigError, match="checkpointing=True: Linear has no blocks"):
        Checkpointed(objective, nn.Linear(2, 2))
