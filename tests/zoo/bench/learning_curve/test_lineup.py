"""Which models and data are compared where the user names a modality, or only some of them.

That these models read these data, in the sizes of a quick study, is in test_keep_rates.py, which plans each.
"""

from collections.abc import Iterator
from typing import Any

import pytest

import zoo
from zoo import ComparisonSpec, ModelSpec, Registry, hookimpl
from zoo.bench.learning_curve.config import StudyConfig
from zoo.bench.learning_curve.lineup import comparison_of, contestants, quick_sizes
from zoo.errors import ConfigError
from zoo.registry.lookup import registry, using

VISION = (("resnet-micro", "vit-micro", "hybrid-micro"), "cards")
SPEECH = (("dscnn-micro", "speech-micro", "conformer-micro"), "spoken-digits")


@pytest.mark.parametrize(
    ("models", "data", "modality", "found"),
    [
        (None, "", "", VISION),
        (None, "", "image", VISION),
        (None, "", "sound", SPEECH),
        (None, "", "Speech", SPEECH),
        (None, "spoken-digits:frames", "", (SPEECH[0], "spoken-digits:frames")),
        (None, "digits", "", (VISION[0], "digits")),
        (None, "npz:file.npz", "", (VISION[0], "npz:file.npz")),
        (None, "somewhere/file.npz", "", (VISION[0], "somewhere/file.npz")),
        (("conformer-tiny",), "", "", (("conformer-tiny",), "spoken-digits")),
        (("vit-micro", "vit-mini"), "", "vision", (("vit-micro", "vit-mini"), "cards")),
        (("gat-cora", "gcn-micro"), "planetoid:cora:here", "", (("gat-cora", "gcn-micro"), "planetoid:cora:here")),
    ],
)
def test_what_is_not_named_is_that_of_the_modality(models: Any, data: str, modality: str, found: Any) -> None:
    assert contestants(models, data, modality) == found


@pytest.mark.parametrize(
    ("models", "modality", "text"),
    [
        (
            ("resnet-micro", "bert-micro"),
            "",
            r"different modalities.*'resnet-micro \(vision\)' and 'bert-micro \(text\)'",
        ),
        (("resnet-micro",), "sound", "--modality sound: resnet-micro is of modality 'vision'.*dscnn-micro"),
        (None, "smell", r"Unknown modality \(smell\).*'graph', 'speech', 'text' and 'vision'"),
    ],
)
def test_what_cannot_be_compared_is_refused(models: Any, modality: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        contestants(models, "", modality)


class Odours:
    """A plugin with a model and nothing to compare."""

    @hookimpl
    def zoo_models(self) -> Iterator[ModelSpec]:
        yield ModelSpec(name="nose-micro", entry="a:b", modality="odours", example="a:b")


class Compared(Odours):
    """The same, with what is compared."""

    @hookimpl
    def zoo_comparisons(self) -> list[ComparisonSpec]:
        return [ComparisonSpec(name="odours", aliases=("smell",), data="roses", models=("nose-micro",), quick_steps=7)]


def test_a_modality_without_data_to_compare_is_refused_with_what_to_do() -> None:
    with using(Registry(plugins=[Odours()])):
        with pytest.raises(ConfigError, match=r"modality 'odours'.*zoo_comparisons.*--models nose-micro --data SOURCE"):
            contestants(None, "", "odours")
        with pytest.raises(ConfigError, match=r"'nose-micro': no plugin names data for modality 'odours'.*--data"):
            contestants(("nose-micro",), "", "")
        assert contestants(("nose-micro",), "roses", "") == (("nose-micro",), "roses")


def test_a_plugin_of_others_names_what_is_compared() -> None:
    with using(Registry(plugins=[Compared()])):
        assert contestants(None, "", "smell") == contestants(None, "", "odours") == (("nose-micro",), "roses")
        config = quick_sizes(StudyConfig(models=("nose-micro",), data="roses"))
        assert (config.steps, config.sizes) == (7, None)


def test_an_empty_list_of_models_is_left_for_the_study_to_refuse() -> None:
    assert contestants((), "", "") == ((), "cards")


def test_quick_sizes_are_those_of_the_plugin_for_its_own_data_and_leave_what_was_chosen() -> None:
    assert quick_sizes(StudyConfig(data="cards")).steps == 700
    assert quick_sizes(StudyConfig(data="cards", steps=3, sizes=(20,))) == StudyConfig(steps=3, sizes=(20,))
    assert quick_sizes(StudyConfig(data="digits")) == StudyConfig(data="digits")


@pytest.mark.parametrize("modality", ["vision", "speech", "text", "graph"])
def test_each_modality_compares_a_convolution_with_self_attention_of_like_size(modality: str) -> None:
    specs = [zoo.info(name) for name in comparison_of(modality).models]
    assert {spec.modality for spec in specs} == {modality}
    kinds = [spec.kind for spec in specs[:2]]
    assert kinds == ["convolution", "attention"]
    sizes = [spec.parameters or 0 for spec in specs]
    assert max(sizes) < 1.5 * min(sizes)


def test_every_comparison_names_models_and_sources_that_are_there() -> None:
    for each in registry().comparisons:
        assert registry().sources.split(each.data)[0].modality == each.name
        assert all(zoo.info(name).modality == each.name for name in each.models)
