import inspect
import json
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import zoo
from zoo import (
    AttentionSpec,
    ConfigError,
    MissingLibraryError,
    ModelSpec,
    PluginError,
    Registry,
    Requirement,
    UnknownModelError,
    hookimpl,
)
from zoo.core import Attention, Causal, Explicit, Full
from zoo.core.patterns.pattern import And, Or
from zoo.factory.attention_argument import attention
from zoo.factory.keywords import check
from zoo.registry.lookup import using

Spec = Callable[..., ModelSpec]

pytestmark = pytest.mark.usefixtures("toys")


class Linear(nn.Module):
    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()


def linear() -> type[nn.Module]:
    return Linear


def only(size: str) -> Explicit:
    return Explicit(torch.eye(int(size), dtype=torch.bool))


@pytest.fixture
def mechanisms(toys: Registry) -> Iterator[None]:
    """Offer a mechanism, and a pattern with an argument, beside the built-in patterns."""

    class More:
        @hookimpl
        def zoo_attentions(self) -> list[AttentionSpec]:
            return [
                AttentionSpec(name="plain", entry=f"{__name__}:linear"),
                AttentionSpec(name="only", entry=f"{__name__}:only", takes="SIZE"),
            ]

    with using(Registry(plugins=["zoo.registry.builtin", More()], autoload=False)):
        yield


def test_the_signatures_are_those_of_the_design() -> None:
    keyword = {"weights", "task", "num_classes", "attention", "position", "device", "dtype"}
    parameters = inspect.signature(zoo.create).parameters
    assert list(parameters)[:2] == ["name", "pretrained"]
    assert {p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY} == keyword
    assert zoo.create_model is zoo.create
    assert list(inspect.signature(zoo.list_models).parameters) == ["filter", "modality", "pretrained", "exclude"]
    assert list(inspect.signature(zoo.example).parameters) == ["name", "batch_size", "seed"]
    assert list(inspect.signature(zoo.preprocess).parameters) == ["name", "train"]


def test_a_model_is_made_by_name_and_runs_on_its_example() -> None:
    answer = zoo.create("Toy_Small").eval()(*zoo.example("toy-small"))
    assert answer.shape == (2, 3)
    assert not torch.allclose(answer[0], answer[1])


def test_the_same_seed_gives_the_same_example() -> None:
    first, again, other = (zoo.example("toy-small", 3, seed)[0] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert len(first) == 3


def test_preprocess_gets_configuration_and_mode() -> None:
    assert zoo.preprocess("toy-small", train=True)("raw") == ("raw", True, 3)
    with pytest.raises(ConfigError, match="'conv-small' has no preprocessing"):
        zoo.preprocess("conv-small")


def test_preprocess_takes_a_model_too() -> None:
    assert zoo.preprocess(zoo.create("toy-small", channels=5))("raw") == ("raw", False, 5)
    with pytest.raises(ConfigError, match=r"Linear has no spec: give a name, or a model that zoo\.create made"):
        zoo.postprocess(nn.Linear(2, 2))


def test_overrides_replace_the_configuration_and_none_does_not() -> None:
    model: Any = zoo.create("toy-small", depth=1, dim=None, num_classes=5)
    assert len(model.encoder.blocks) == 1
    assert model.num_classes == 5
    assert model.num_features == 8


def test_the_spec_of_a_model_says_what_was_built() -> None:
    spec = zoo.create("toy-small", task="tag", num_classes=5, depth=1, attention="causal", position="rotary").spec
    assert spec.config == {
        "channels": 3, "dim": 8, "depth": 1, "num_classes": 5, "task": "tag", "attention": "causal",
        "position": "rotary",
    }  # fmt: skip
    assert spec.task == "tag"
    assert spec.plugin == "toys"
    assert spec.parameters == sum(p.numel() for p in zoo.create("toy-small", depth=1, num_classes=5).parameters())
    json.dumps(spec.to_dict())


def test_objects_are_recorded_as_text() -> None:
    model = zoo.create("toy-small", attention=Causal(), position=Full())
    assert model.spec.config["attention"] == repr(Causal())
    assert model.spec.config["position"] == repr(Full())
    assert pickle.loads(pickle.dumps(model.spec)) == model.spec


def test_an_unknown_keyword_names_the_nearest_valid_one() -> None:
    with pytest.raises(ConfigError, match=r"Model 'toy-small' has no keyword 'detph'\. Did you mean 'depth'"):
        zoo.create("toy-small", detph=3)


def passes_on(**anything: Any) -> nn.Module:
    return Linear(**anything)


def test_an_unknown_keyword_is_named_also_where_the_entry_passes_it_on(toy_spec: Spec, toy_plugin: Any) -> None:
    spec = toy_spec(entry=f"{__name__}:passes_on", config={"dim": 1, "num_heads": 1})
    with (
        using(Registry(plugins=[toy_plugin(spec)], autoload=False)),
        pytest.raises(ConfigError, match="Model 'toy-small' has no keyword 'dpeth'"),
    ):
        zoo.create("toy-small", dpeth=3)
    with (
        using(Registry(plugins=["zoo.registry.builtin", toy_plugin(spec)], autoload=False)),
        pytest.raises(ConfigError, match=r"takes no attention=: it is made by another library .* no attention"),
    ):
        zoo.create("toy-small", attention="causal")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"drop_path": 0.1}, "Model 'resnet-18' has no keyword 'drop_path'. Did you mean 'drop_path_rate'"),
        ({"attention": "causal"}, "'resnet-18' takes no attention=: it is made by another library (timm resnet18)"),
        ({"position": "none"}, "'resnet-18' takes no position=: it is made by another library (timm resnet18)"),
    ],
)
def test_keywords_of_another_librarys_network(given: dict[str, Any], text: str) -> None:
    with (
        using(Registry(plugins=["zoo.registry.builtin", "zoo.plugins.vision.plugin"], autoload=False)),
        pytest.raises(ConfigError, match=re.escape(text)),
    ):
        zoo.create("resnet-18", **given)


def test_an_unknown_task_lists_the_valid_ones() -> None:
    expected = r"task='clasify' of model 'toy-small': its tasks are 'classify', 'tag' and 'features'\. Did you mean"
    with pytest.raises(ConfigError, match=expected):
        zoo.create("toy-small", task="clasify")


@pytest.mark.parametrize("value", [-1, "10"])
def test_num_classes_is_a_number(value: Any) -> None:
    with pytest.raises(ConfigError, match=f"num_classes={value!r} of model 'toy-small'"):
        check(zoo.info("toy-small"), nn.Linear, {"num_classes": value})


@pytest.mark.parametrize(
    ("keyword", "why"),
    [
        ("attention", "it is made by convolution and has no attention to swap"),
        ("position", "no position encoding to swap"),
        ("num_classes", "no classifier"),
    ],
)
def test_a_model_without_the_part_says_so(keyword: str, why: str) -> None:
    value: Any = 1 if keyword == "num_classes" else "full"
    with pytest.raises(ConfigError, match=f"Model 'conv-small' takes no {keyword}=: .*{why}"):
        zoo.create("conv-small", **{keyword: value})


def test_a_model_of_attention_that_cannot_be_swapped_says_that_it_is_fixed() -> None:
    spec = ModelSpec(name="toy", entry="zoo:Nothing", modality="toys", example="zoo:nothing")
    with pytest.raises(
        ConfigError, match=r"takes no attention=: its attention is fixed, as zoo:Nothing has no parameter 'attention'"
    ):
        check(spec, lambda dim=8: None, {"attention": "full"})
    with pytest.raises(ConfigError, match=r"takes no attention=: .*; write choice='hard'$"):
        check(spec, lambda choice="soft": None, {"attention": "hard"})


def test_a_models_only_task_may_be_asked_for() -> None:
    zoo.create("conv-small", task="classify")
    with pytest.raises(ConfigError, match=r"takes no task=: .*one task only"):
        zoo.create("conv-small", task="tag")


@pytest.mark.usefixtures("mechanisms")
class TestAttention:
    def test_a_pattern_goes_into_the_usual_attention(self) -> None:
        made = attention("causal")
        assert isinstance(made, partial)
        assert made.func is Attention
        assert made.keywords == {"pattern": Causal()}

    def test_arguments_stand_behind_a_colon(self) -> None:
        made = attention("only: 3")
        assert isinstance(made, partial)
        assert made.keywords["pattern"].may_read.shape[-1] == 3

    def test_and_binds_tighter_than_or(self) -> None:
        made = attention("only:2 | only:3 & causal")
        assert isinstance(made, partial)
        pattern = made.keywords["pattern"]
        assert isinstance(pattern, Or)
        assert {type(part) for part in vars(pattern).values()} == {Explicit, And}

    def test_a_mechanism_is_taken_as_it_is(self) -> None:
        assert attention("plain") is Linear

    def test_a_mechanism_cannot_be_combined(self) -> None:
        with pytest.raises(ConfigError, match=r"'plain & causal' combines .*, which is no pattern"):
            attention("plain & causal")

    def test_an_unknown_name_suggests_a_near_one(self) -> None:
        with pytest.raises(ConfigError, match=r"Unknown attention \(casual\)\. Did you mean 'causal'\?"):
            attention("full & casual")

    @pytest.mark.parametrize("text", ["only", "only:x", "only:1,2"])
    def test_wrong_arguments_say_how_it_is_written(self, text: str) -> None:
        with pytest.raises(ConfigError, match="it is written only:SIZE"):
            attention(text)

    def test_anything_else_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="attention=3 is neither"):
            attention(3)


def test_attention_swaps_the_pattern_of_a_model() -> None:
    inputs = zoo.example("toy-small")
    maps = zoo.create("toy-small", attention="full & causal").attention_maps(*inputs)
    assert not maps[0].triu(1).any()


def test_device_and_dtype() -> None:
    model = zoo.create("toy-small", device="meta", dtype="bfloat16")
    assert {(p.device.type, p.dtype) for p in model.parameters()} == {("meta", torch.bfloat16)}
    with pytest.raises(ConfigError, match="dtype='half-ish' is no dtype"):
        zoo.create("toy-small", dtype="half-ish")
    with pytest.raises(ConfigError, match="dtype='int8' holds no fractions"):
        zoo.create("toy-small", dtype="int8")
    with pytest.raises(ConfigError, match=r"device='abacus' is no device: write cpu, cuda, cuda:1 \(.*\) or mps$"):
        zoo.create("toy-small", device="abacus")


def test_hooks_see_and_change_what_is_built(toy_spec: Spec) -> None:
    seen: list[Any] = []

    class Observer:
        @hookimpl
        def zoo_models(self) -> list[ModelSpec]:
            return [toy_spec()]

        @hookimpl
        def zoo_before_create(self, spec: ModelSpec, overrides: dict[str, Any]) -> None:
            seen.append((spec.name, dict(overrides)))
            overrides["depth"] = 1

        @hookimpl
        def zoo_after_create(self, model: nn.Module, spec: ModelSpec) -> None:
            seen.append((model, spec.config["depth"]))

    with using(Registry(plugins=[Observer()], autoload=False)):
        model = zoo.create("toy-small", dim=4)
    assert seen == [("toy-small", {"dim": 4}), (model, 1)]


def requires(toy_spec: Spec, toy_plugin: Any, module: str, **fields: Any) -> Registry:
    library = Requirement(module=module, distribution="torch-geometric", install="attention-zoo[graph]")
    spec = toy_spec("graph-small", requires=(library,), **fields)
    return Registry(plugins=[toy_plugin(spec)], autoload=False)


def test_a_missing_library_is_known_before_anything_is_imported(toy_spec: Spec, toy_plugin: Any) -> None:
    with (
        using(requires(toy_spec, toy_plugin, "zoo_absent", entry="zoo_bomb:Model")),
        pytest.raises(MissingLibraryError) as caught,
    ):
        zoo.create("graph-small")
    assert str(caught.value) == "'graph-small' needs torch-geometric: pip install \"attention-zoo[graph]\""


def test_a_broken_library_is_not_called_missing(
    toy_spec: Spec, toy_plugin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zoo_brokenlib.py").write_text("raise OSError('libcuda.so')")
    (tmp_path / "zoo_userlib.py").write_text("import zoo_brokenlib")
    monkeypatch.syspath_prepend(tmp_path)
    with (
        using(requires(toy_spec, toy_plugin, "zoo_brokenlib", entry="zoo_userlib:Model")),
        pytest.raises(MissingLibraryError, match=r"installed but does not import: OSError: libcuda.so") as caught,
    ):
        zoo.create("graph-small")
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize("entry", ["zoo_absent_module:Model", "torch:NoSuchModel", "torch"])
def test_an_entry_that_does_not_import_names_the_plugin(entry: str, toy_spec: Spec, toy_plugin: Any) -> None:
    registry = Registry(plugins=[toy_plugin(toy_spec(entry=entry))], autoload=False)
    with using(registry), pytest.raises(PluginError, match="'toy-small' of plugin 'toys'"):
        zoo.create("toy-small")


def test_models_are_listed_in_natural_order() -> None:
    assert zoo.list_models() == ["conv-small", "toy-large", "toy-large-10", "toy-small"]


def test_wildcards_select_and_exclude() -> None:
    assert zoo.list_models("Toy_*", exclude="*large") == ["toy-large-10", "toy-small"]
    assert zoo.list_models(["conv*", "*10"]) == ["conv-small", "toy-large-10"]
    assert zoo.list_models("toys:toy-s*") == ["toy-small"]


def test_a_modality_selects_and_an_unknown_one_is_refused() -> None:
    assert zoo.list_models(modality="nodes") == ["toy-large"]
    with pytest.raises(ConfigError, match=r"Unknown modality \(node\)\. Did you mean 'nodes'\?"):
        zoo.list_models(modality="node")


def test_published_weights_are_listed_with_their_tags() -> None:
    assert zoo.list_models(pretrained=True) == ["toy-small.first", "toy-small.second"]
    assert zoo.list_models("*.second", pretrained=True) == ["toy-small.second"]


def test_info_builds_nothing() -> None:
    assert zoo.info("toys:toy-small.first").entry.endswith(":Toy")
    with pytest.raises(UnknownModelError, match="Did you mean 'toy-small'"):
        zoo.info("toy-smal")


def test_plugins_are_reported_also_once_the_package_of_that_name_is_imported() -> None:
    import zoo.plugins.vision

    assert [info.name for info in zoo.plugins()] == ["builtin", "toys"]
    assert vars(zoo)["plugins"] is sys.modules["zoo.plugins"]


def test_a_text_where_a_number_belongs_is_named() -> None:
    with pytest.raises(ConfigError, match="depth='abc' of model 'toy-small' is a text: it takes a number"):
        zoo.create("toy-small", depth="abc")


def test_a_gpu_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="device='cuda': torch sees no GPU here"):
        zoo.create("toy-small", device="cuda")
