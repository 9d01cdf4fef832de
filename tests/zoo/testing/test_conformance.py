"""The kit can fail: for each check there is a plugin that breaks it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo import ModelSpec, PluginError, hookimpl
from zoo.core import Causal, Encoder, Model, Tokens
from zoo.core.layers.heads import head
from zoo.registry.lookup import using
from zoo.testing import PluginConformance, checks, inputs

Spec = Callable[..., ModelSpec]


class Stem(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(3, dim)

    def forward(self, x: Tensor) -> Tokens:
        return Tokens(self.proj(x))


class Sound(Model):
    """A model that passes; each model below breaks one rule."""

    def __init__(self, dim: int = 8, num_classes: int = 4) -> None:
        super().__init__(Stem(dim), Encoder(dim, 2, 2, 16), head("classify", dim, num_classes, pool="mean"))
        torch.manual_seed(0)
        nn.init.normal_(self.head.linear.weight)


class Batchy(Sound):
    def forward(self, *args: Any) -> Tensor:
        y = super().forward(*args)
        return y - y.mean(0)


class Moody(Sound):
    def forward(self, *args: Any) -> Tensor:
        return super().forward(*args) + torch.rand(())


class Wild(Sound):
    def forward(self, *args: Any) -> Tensor:
        return super().forward(*args) / 0


class Narrow(Sound):
    def forward(self, *args: Any) -> Tensor:
        return super().forward(*args)[:, :1]


class Idle(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(1))


class Loose(Sound):
    def attention_maps(self, *args: Any) -> list[Tensor]:
        return [2 * weights for weights in super().attention_maps(*args)]


class Stubborn(Sound):
    def reset_classifier(self, num_classes: int) -> None:
        pass


class Odd(Sound):
    def forward_features(self, *args: Any) -> Tensor:
        return super().forward_features(*args) + 1


class Precise(Sound):
    def forward(self, *args: Any) -> Tensor:
        return super().forward(*args).float()


class Clinging(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.local = lambda: None


class Growing(Sound):
    def forward(self, *args: Any) -> Tensor:
        self.more = nn.Buffer(torch.zeros(1))
        return super().forward(*args)


class Branching(Sound):
    def forward(self, *args: Any) -> Tensor:
        return super().forward(*args) * (2 if args[0].sum().item() > 0 else 3)


class Compiled(Sound):
    def forward(self, *args: Any) -> Tensor:
        return super().forward(*args) + float(torch.compiler.is_compiling())


class Forgetful(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.rand(1), persistent=False)

    def forward(self, *args: Any) -> Tensor:
        return super().forward(*args) * (1 + self.scale)


class Padded(nn.Module):
    """Read sequences with lengths, and mind them or not."""

    def __init__(self, mind: bool) -> None:
        super().__init__()
        self.mind = mind

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        valid = torch.arange(x.shape[1]) < lengths[:, None]
        return (x.masked_fill(~valid[..., None], 0.0) if self.mind else x * valid[..., None]).sum(1)


X = (torch.randn(3, 6, 3),)


@pytest.mark.parametrize(
    ("broken", "check", "text"),
    [
        (Wild, lambda m: checks.check_answer(m, X, "classify", 4, 3), "NaN or infinity"),
        (Narrow, lambda m: checks.check_answer(m, X, "classify", 4, 3), "answer of shape"),
        (Moody, lambda m: checks.check_answer(m, X, "classify", 4, 3), "asked twice"),
        (Batchy, lambda m: checks.check_batch_mates(m, X), "alone and in its batch"),
        (Idle, lambda m: checks.check_gradients(m, X), "no gradient: unused"),
        (Loose, lambda m: checks.check_attention_maps(m, X), "sum to neither 1 nor 0"),
        (Stubborn, lambda m: checks.check_classifier(m, X), "does not give 7 scores"),
        (Odd, lambda m: checks.check_features(m, X), "forward_intermediates and forward_features"),
        (Precise, lambda m: checks.check_bfloat16(m, X), "the answer is torch.float32"),
        (Sound, lambda m: checks.check_causal(m, X), "claims to be causal"),
        (lambda: positioned(), lambda m: checks.check_permutation(m, X), "claims to be permutation-equivariant"),
        pytest.param(Compiled, lambda m: checks.check_compile(m, X), "compiled", marks=pytest.mark.slow),
    ],
)
def test_a_broken_model_fails_its_check(broken: Any, check: Callable[[nn.Module], None], text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check(broken())


def positioned() -> Model:
    model = Sound()
    shift = torch.arange(6.0)[:, None] * torch.randn(8)
    model.encoder.blocks[0].register_forward_hook(lambda m, a, t: t.with_x(t.x + shift))
    return model


def test_what_cannot_be_pickled_fails() -> None:
    with pytest.raises(Exception, match="lambda"):
        checks.check_copies(Clinging(), X)


@pytest.mark.slow
def test_what_cannot_be_exported_fails() -> None:
    with pytest.raises(Exception, match="data-dependent"):
        checks.check_export(Branching(), X)


def test_padding_that_leaks_fails() -> None:
    batch = (torch.randn(2, 4, 3), torch.tensor([2, 4]))
    checks.check_padding(Padded(mind=True), batch)
    with pytest.raises(AssertionError, match="other values in the padding"):
        checks.check_padding(Padded(mind=False), batch)


def test_a_claim_that_holds_passes() -> None:
    model = Sound()
    checks.check_permutation(model, X)
    for block in model.encoder.blocks:
        block.attention.pattern = Causal()
    checks.check_causal(model, X)


@pytest.mark.parametrize("mask", [torch.tensor([2, 4]), torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]]).bool()])
def test_lengths_are_read_from_numbers_and_masks(mask: Tensor) -> None:
    batch = (torch.randn(2, 4, 3), mask)
    read = inputs.lengths(batch)
    assert read is not None
    assert read.tolist() == [2, 4]
    poisoned = inputs.poisoned(batch)
    assert poisoned is not None
    assert poisoned[0].isnan().any(-1).tolist() == [[False, False, True, True], [False] * 4]


def kit(*specs: ModelSpec, **hooks: Any) -> PluginConformance:
    """Make the kit for a plugin of these models."""

    class Plugin:
        @hookimpl
        def zoo_models(self) -> tuple[ModelSpec, ...]:
            return specs

    plugin_type = type("Plugin", (Plugin,), hooks)
    return type("TestPlugin", (PluginConformance,), {"plugin": plugin_type()})()


@pytest.fixture
def see() -> Iterator[Callable[[PluginConformance], PluginConformance]]:
    """Let the zoo see the plugin of a kit, as its own fixture does."""
    with ExitStack() as stack:

        def enter(kit: PluginConformance) -> PluginConformance:
            stack.enter_context(using(kit._registry()))
            return kit

        yield enter


def test_models_above_the_budget_are_not_run(toy_spec: Spec) -> None:
    sized = kit(toy_spec("toy-small"), toy_spec("toy-huge", parameters=10**9), toy_spec("toy-big", parameters=10**9))
    type(sized).small = {"toy-big": {"depth": 1}}
    assert [spec.name for spec in sized._specs()] == ["toy-big", "toy-huge", "toy-small"]
    assert [spec.name for spec in sized._specs() if sized._is_small(spec)] == ["toy-big", "toy-small"]


def test_a_plugin_that_does_not_load_fails(toy_spec: Spec) -> None:
    kit(toy_spec()).test_plugin_loads()
    with pytest.raises(AssertionError, match="not legal"):
        kit(toy_spec("Toy")).test_plugin_loads()


def test_hooks_without_mark_and_marks_without_hook_fail(toy_spec: Spec) -> None:
    kit(toy_spec()).test_hooks_are_marked()
    with pytest.raises(AssertionError, match="zoo_sources is not marked"):
        kit(toy_spec(), zoo_sources=lambda self: []).test_hooks_are_marked()
    with pytest.raises(AssertionError, match=r"models is marked .* no such hook"):
        kit(toy_spec(), models=hookimpl(lambda self: [])).test_hooks_are_marked()


@pytest.mark.slow
def test_a_plugin_that_imports_torch_to_list_names_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name, code in (("zoo_kit_heavy", "import torch"), ("zoo_kit_light", "")):
        (tmp_path / f"{name}.py").write_text(code)
    type(light := kit()).plugin = "zoo_kit_light"
    light.test_discovery_imports_nothing_heavy()
    type(heavy := kit()).plugin = "zoo_kit_heavy"
    with pytest.raises(AssertionError, match=r"discovery imports .*torch"):
        heavy.test_discovery_imports_nothing_heavy()


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"config": {"channels": 3, "dim": 8, "sizes": (1, 2)}}, "other than JSON"),
        ({"config": {"channels": 3, "dim": {1}}}, "not JSON serializable"),
        ({"task": "generate"}, "not among tasks"),
        ({"claims": ("psychic",)}, "known are"),
    ],
)
def test_a_spec_that_breaks_the_contract_fails(fields: dict[str, Any], text: str, toy_spec: Spec, see: Any) -> None:
    see(kit(toy_spec())).test_spec_is_json("toy-small")
    with pytest.raises((AssertionError, TypeError), match=text):
        see(kit(toy_spec(**fields))).test_spec_is_json("toy-small")


def test_an_entry_that_does_not_resolve_fails(toy_spec: Spec, see: Any) -> None:
    see(kit(toy_spec())).test_entries_resolve("toy-small")
    with pytest.raises(PluginError, match="does not import"):
        see(kit(toy_spec(convert="zoo.core:nothing"))).test_entries_resolve("toy-small")


def test_a_wrong_number_of_parameters_fails(toy_spec: Spec, see: Any) -> None:
    with pytest.raises(AssertionError, match=r"parameters=\d+ is the truth"):
        see(kit(toy_spec(parameters=1))).test_parameters_are_exact("toy-small")


def test_a_number_of_parameters_that_is_not_declared_is_not_checked(toy_spec: Spec, see: Any) -> None:
    with pytest.raises(pytest.skip.Exception, match="declares no number"):
        see(kit(toy_spec(parameters=None))).test_parameters_are_exact("toy-small")


def swallows(channels: int, dim: int, **anything: Any) -> nn.Module:
    return Sound(dim)


def test_a_model_that_swallows_keywords_fails(toy_spec: Spec, see: Any) -> None:
    see(kit(toy_spec())).test_unknown_keyword_is_refused("toy-small")
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        see(kit(toy_spec(entry=f"{__name__}:swallows"))).test_unknown_keyword_is_refused("toy-small")


def noise(config: dict[str, Any], batch_size: int, seed: int) -> tuple[Tensor]:
    return (torch.randn(batch_size, 6, 3),)


def own(toy_spec: Spec, name: str) -> ModelSpec:
    return toy_spec(entry=f"{__name__}:{name}", example=f"{__name__}:noise", config={}, preprocess=None)


def test_an_example_without_seed_fails(toy_spec: Spec, see: Any) -> None:
    with pytest.raises(AssertionError, match="ignores its seed"):
        (made := see(kit(own(toy_spec, "Sound")))).test_example_follows_its_seed("toy-small", made._inputs("toy-small"))


def test_weights_that_do_not_round_trip_fail(toy_spec: Spec, see: Any, tmp_path: Path) -> None:
    made = see(kit(own(toy_spec, "Sound")))
    made.test_weights_round_trip("toy-small", made._create("toy-small"), X, tmp_path)
    made = see(kit(own(toy_spec, "Forgetful")))
    model = made._create("toy-small")
    torch.manual_seed(1)
    model.scale = torch.tensor([5.0])
    with pytest.raises(AssertionError, match="saved and loaded"):
        made.test_weights_round_trip("toy-small", model, X, tmp_path)


def test_keys_that_change_with_use_fail(toy_spec: Spec, see: Any) -> None:
    made = see(kit(own(toy_spec, "Growing")))
    with pytest.raises(AssertionError, match="after use"):
        made.test_keys_are_stable("toy-small", made._create("toy-small"), X)
