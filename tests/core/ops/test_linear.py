"""Linear layers, alone and with an activation, and those of classifiers."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.core import Classify, Tag, Tokens
from zoo.core.errors import ConfigError
from zoo.core.ops import onednn, products
from zoo.core.ops.activations import gelu
from zoo.core.ops.linear import Linear, activated, scores


def test_shapes_are_known_on_the_meta_device() -> None:
    assert Linear(4, 3).to("meta")(torch.empty(2, 4, device="meta")).shape == (2, 3)


@pytest.mark.parametrize("rule", ["mkl", "onednn"])
def test_an_activation_follows_the_layer(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    monkeypatch.setattr(products, "chosen", lambda: rule)
    layer, x = Linear(7, 5), torch.randn(3, 7)
    wanted = nn.functional.gelu(layer(x))
    torch.testing.assert_close(activated(layer, x, gelu), wanted)
    with torch.no_grad():
        torch.testing.assert_close(activated(layer, x, gelu), wanted)


def test_any_module_may_stand_in_the_place_of_the_layer() -> None:
    assert activated(nn.Identity(), torch.tensor([-1.0, 2.0]), torch.relu).tolist() == [0.0, 2.0]


def test_a_hook_sees_the_product_before_the_activation() -> None:
    layer, seen = Linear(7, 5), []

    def note(module: nn.Module, inputs: tuple[Tensor, ...], answer: Tensor) -> None:
        seen.append(answer.clone())

    layer.register_forward_hook(note)
    x = torch.randn(3, 7)
    with torch.no_grad():
        activated(layer, x, gelu)
    torch.testing.assert_close(seen, [nn.functional.linear(x, layer.weight, layer.bias)])


def test_a_wrong_rule_is_told_when_a_layer_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_PRODUCTS", "fast")
    monkeypatch.setattr(products, "chosen", products.chosen.__wrapped__)
    with pytest.raises(ConfigError, match="ZOO_PRODUCTS='fast' is not one of auto, mkl"):
        Linear(4, 3)


@pytest.mark.skipif(not onednn.works(), reason="PyTorch has no oneDNN here")
@pytest.mark.parametrize("make", [lambda: Classify(16, 8), lambda: Tag(16, 8)])
def test_classifiers_follow_the_rule(make: Callable[[], nn.Module], monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[torch.Size] = []
    multiplied = onednn.multiply

    def note(x: Tensor, weight: Tensor, bias: Tensor | None, activation: onednn.Activation | None = None) -> Tensor:
        served.append(x.shape)
        return multiplied(x, weight, bias, activation)

    monkeypatch.setattr(onednn, "multiply", note)
    head, x = make(), Tokens(torch.randn(2, 3, 16))
    with torch.no_grad():
        monkeypatch.setattr(products, "chosen", lambda: "mkl")
        wanted = head(x)
        assert not served
        monkeypatch.setattr(products, "chosen", lambda: "onednn")
        torch.testing.assert_close(head(x), wanted)
    assert len(served) == 1


def test_scores_have_the_dtype_of_autocast_and_are_seen_by_hooks() -> None:
    layer, seen, x = nn.Linear(7, 5), [], torch.randn(3, 7)
    with torch.autocast("cpu", torch.bfloat16):
        assert scores(layer, x).dtype is torch.bfloat16
    layer.register_forward_hook(lambda module, inputs, answer: seen.append(answer))
    torch.testing.assert_close([scores(layer, x)], seen)
    assert scores(nn.Identity(), x) is x


FAMILIES = (
    "bert-micro",
    "rnn-attention-tiny",
    "caption-rnn-tiny",
    "conformer-micro",
    "vit-micro",
    "gps-micro",
    "gat-cora",
)


@pytest.mark.parametrize("name", FAMILIES)
def test_models_multiply_by_the_rule_but_for_gates_of_one_channel(name: str) -> None:
    model = zoo.create(name, device="meta")
    plain = [key for key, part in model.named_modules() if type(part) is nn.Linear and part.out_features > 1]
    elsewhere = ("head.linear", "position.project")  # by `scores`; and where the offsets are known
    assert [key for key in plain if not key.endswith(elsewhere)] == []
