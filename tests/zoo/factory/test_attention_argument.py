"""`attention=` with the text form of patterns, on the models that are built in."""

import re
from typing import Any

import pytest
import torch

import zoo
from zoo import ConfigError, Registry
from zoo.core import Attention, Full, Globals, Hard, Kernel, Window
from zoo.core.models.inspection import check_fit
from zoo.core.patterns.pattern import Or, Pattern
from zoo.core.positions.floater import Walk
from zoo.factory.attention_argument import attention, pattern
from zoo.registry.lookup import using

SMALL = ["vit-micro", "hybrid-micro"]
"""One model for each encoder in the house, tiny."""


def patterns(model: torch.nn.Module) -> set[Pattern]:
    """Give the patterns of the attentions that `attention=` swaps, which those to an encoder's vectors are not."""
    parts = {name: part for name, part in model.named_modules() if isinstance(part, Attention)}
    return {part.pattern for name, part in parts.items() if not name.endswith(".cross")}


@pytest.mark.parametrize("name", SMALL)
def test_every_encoder_takes_a_joined_pattern(name: str) -> None:
    model = zoo.create(name, attention="window:2 | globals:0").eval()
    assert patterns(model) == {Or(Window(2), Globals((0,)))}
    for weights in model.attention_maps(*zoo.example(name)):
        reads = weights[0, 0] > 0
        n = len(reads)
        expected = [[abs(i - j) <= 2 or 0 in (i, j) for j in range(n)] for i in range(n)]
        assert reads.tolist() == expected


@pytest.mark.parametrize(
    "text", ["window:3", "chunk:4,1", "fixed:4,2", "strided:3", "globals:0,3 | causal", "window:2,2,2 | globals:0"]
)
def test_every_kind_of_pattern_trains(text: str) -> None:
    model = zoo.create("hybrid-micro", attention=text)
    assert patterns(model) == {pattern(text)}
    model(*zoo.example("hybrid-micro")).square().sum().backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in model.parameters())


def test_the_pattern_is_recorded_as_it_was_written() -> None:
    spec = zoo.create("vit-micro", attention="window:2 | globals:0").spec
    assert isinstance(spec, zoo.ModelSpec)
    assert spec.config["attention"] == "window:2 | globals:0"


def test_every_model_of_the_house_takes_a_pattern_or_says_why_not() -> None:
    refused = {}
    for name in zoo.list_models():
        try:
            model = zoo.create(name, device="meta", attention="window:1 | globals:0")
            writes = {Full()} if name.startswith("speech-translator") else set()  # its decoder reads no frames
            assert patterns(model) - writes == {Or(Window(1), Globals((0,)))}, name
        except ConfigError as error:
            refused[name] = str(error)
    assert "its num_heads=9 belongs to its own attention='quadratic'" in refused.pop("conv-attention-micro")
    nodes = {name for name in refused if name.startswith(("graph-", "gps-"))} - {"graph-transformer-conv"}
    assert all("needs an order of tokens, and nodes have none" in refused.pop(name) for name in nodes)
    assert len(nodes) == 5
    assert all(f"Model '{name}' takes no attention=" in text for name, text in refused.items()), refused
    assert "vit-micro" not in refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("neighbourhood:7,7,1", "is a grid of 7 x 7: 49 positions, and there are 9"),
        ("window:1 | globals:99", "globals:99 names position 99, and the 9 there are end at 8"),
        ("bigbird:4,64", "has 16 blocks of 4, and 9 positions make 3"),
    ],
)
def test_a_pattern_for_another_number_of_tokens_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        zoo.create("vit-micro", attention=text)


@pytest.mark.parametrize("text", ["qk-norm & window:8", "window:8 | qk-norm"])
def test_a_mechanism_in_a_join_is_named_as_it_is_written(text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"attention={text!r} combines 'qk-norm', which is no pattern")):
        attention(text)


@pytest.mark.parametrize("make", [torch.nn.MultiheadAttention, lambda dim, num_heads: abs])
def test_a_callable_that_makes_no_attention_layer_is_refused(make: Any) -> None:
    name, made = make.__name__, type(make(8, 2)).__name__
    with pytest.raises(ConfigError, match=f"attention={name} makes a {made}, which is no attention layer"):
        zoo.create("vit-micro", attention=make)


@pytest.mark.parametrize("layer", [torch.nn.MultiheadAttention(80, 4), Attention(80, 4)])
def test_a_finished_layer_is_refused_as_each_block_needs_its_own(layer: torch.nn.Module) -> None:
    refused = f"attention={type(layer).__name__}(...) is a finished layer: give a callable"
    with pytest.raises(ConfigError, match=re.escape(refused)):
        zoo.create("vit-micro", attention=layer)


def test_heads_that_belong_to_the_models_own_attention_are_named_where_another_is_asked_for() -> None:
    why = "its num_heads=9 belongs to its own attention='quadratic', so give num_heads= too: dim=64 is not a multiple"
    with pytest.raises(ConfigError, match=re.escape(f"attention='linear' of model 'conv-attention-micro': {why}")):
        zoo.create("conv-attention-micro", attention="linear")
    assert zoo.create("conv-attention-micro", attention="linear", num_heads=8).spec.config["num_heads"] == 8
    with pytest.raises(ConfigError, match=r"^dim=64 is not a multiple of num_heads=7"):  # the caller's own number
        zoo.create("conv-attention-micro", attention="linear", num_heads=7)


def test_a_model_is_held_to_its_number_of_vectors() -> None:
    model = zoo.create("vit-micro", attention="window:1 | globals:0,3")
    check_fit(model, 4)
    refused = "attention='window:1 | globals:0,3' does not fit: globals:0,3 names position 3"
    with pytest.raises(ConfigError, match=re.escape(refused)):
        check_fit(model, 3)


def test_every_pattern_says_how_it_is_written() -> None:
    with using(Registry(plugins=["zoo.registry.builtin"], autoload=False)) as registry:
        for spec in registry.attentions:
            assert spec.description
            if spec.takes:
                with pytest.raises(ConfigError, match=re.escape(f"it is written {spec.name}:{spec.takes}")):
                    pattern(spec.name)
            else:
                attention(spec.name)


ENCODERS: dict[str, dict[str, Any]] = {
    "vit-micro": {},
    "hybrid-micro": {},
    "bert-tiny": {"depth": 1},
    "speech-tiny": {"depth": 1, "position": "rotary"},
    "conformer-tiny": {"depth": 1, "position": "rotary"},
    "wav2vec2-base": {"depth": 1, "dim": 32, "num_heads": 2, "mlp_dim": 32, "conv_dim": 8},
    "transformer-tiny": {"depth": 1},
    "decoder-tiny": {"depth": 1},
}
"""A model for each encoder in the house, small, and positions that go with any attention."""


@pytest.mark.parametrize("mechanism", ["linear", "general", "additive", "hard"])
@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_takes_every_mechanism(name: str, mechanism: str) -> None:
    model = zoo.create(name, attention=mechanism, **ENCODERS[name]).eval()
    model(*zoo.example(name)).square().sum().backward()
    layers = [part for part in model.modules() if isinstance(part, Attention)]
    scores = {"general": "GeneralScore", "additive": "AdditiveScore"}
    made = {"linear": str(Kernel()), "hard": str(Hard()), **scores}[mechanism]
    assert made in {type(layer.score).__name__ for layer in layers} | {str(layer.norm) for layer in layers}
    learned = [p for layer in layers for p in layer.parameters()]
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in learned)


@pytest.mark.parametrize("position", ["floater", "recurrent"])
@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_takes_positions_by_dynamics(name: str, position: str) -> None:
    torch.manual_seed(0)
    model = zoo.create(name, **ENCODERS[name] | {"position": position}).eval()
    model(*zoo.example(name)).square().sum().backward()
    walks = [part for part in model.modules() if isinstance(part, Walk)]
    assert walks
    assert all(p.grad is not None and bool(p.grad.any()) for walk in walks for p in walk.parameters())


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize(
    ("option", "value"),
    [("attention", name) for name in ("linear", "general", "additive", "hard")]
    + [("position", name) for name in ("floater", "recurrent")],
)
def test_writing_with_a_state_is_writing_without_one(
    option: str, value: Any, beam: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    model = zoo.create("decoder-tiny", **{option: value}).double().eval()
    ids, lengths = torch.randint(4, 200, (2, 5)), torch.tensor([5, 3])
    kept = model.generate(ids, lengths, max_len=6, beam=beam)

    def refuse(*_: object, **__: object) -> None:
        raise ConfigError("no state")

    monkeypatch.setattr(model.decoder, "state", refuse)
    again = model.generate(ids, lengths, max_len=6, beam=beam)
    assert kept.ids.equal(again.ids)
    torch.testing.assert_close(kept.scores, again.scores)


def test_what_does_not_go_together_is_refused_with_its_reason() -> None:
    with pytest.raises(ConfigError, match=r"position='alibi' adds to scores, and linear attention .* makes none"):
        zoo.create("vit-micro", attention="linear", position="alibi")
    with pytest.raises(ConfigError, match=r"score=Additive is no product: relative and alibi add a number"):
        zoo.create("vit-micro", attention="additive", position="shaw")
