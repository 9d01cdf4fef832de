"""The models and data of a learning-curve study where the user names a modality, or only some of them."""

from collections.abc import Sequence
from dataclasses import replace

from zoo.bench.learning_curve.config import StudyConfig
from zoo.bench.learning_curve.contestants.contestant import Contestant
from zoo.errors import ConfigError
from zoo.names import listed, normalise
from zoo.registry.lookup import registry
from zoo.spec import ComparisonSpec, ModelSpec


def contestants(models: Sequence[str] | None, data: str, modality: str) -> tuple[tuple[str, ...], str]:
    """Give the models and the data of a study; what was not asked for is what a plugin names for the modality.

    Args:
        models: names, as `Contestant` reads them; None for those of the modality.
        data: source or path; empty for that of the modality.
        modality: name or alias; empty for that of the models, else of the data, else the study's own choice.

    Raises:
        ConfigError: If the models are of different modalities, or of another than asked for, or nothing is named for
            it.
        WeightsError: If a folder or repository holds no model.
    """
    asked = comparison_of(modality) if modality else None
    named = None if models is None else [Contestant.of(name) for name in models]
    models = None if named is None else [each.name for each in named]
    specs = [each.spec for each in named or ()]
    _check_same(specs, modality, asked)
    if models is not None and (data or not models):
        return tuple(models), data or StudyConfig.data
    if not asked and (models or data):
        asked = _named(specs[0].modality if specs else _modality_of(data), models or ())
    usual = (asked.models, asked.data) if asked else (StudyConfig.models, StudyConfig.data)
    return tuple(usual[0] if models is None else models), data or usual[1]


def comparison_of(modality: str) -> ComparisonSpec:
    """Give what a plugin compares for a modality, by its name or an alias.

    Raises:
        ConfigError: If no plugin has it, or the modality has models and nothing is named for it.
    """
    known = registry().comparisons
    for each in known:
        if normalise(modality) in map(normalise, each.aliases):
            return each
    if found := _named(modality, ()):
        return found
    names = [known.short(each) + (f" ({', '.join(each.aliases)})" if each.aliases else "") for each in known]
    own = sorted({spec.name for spec in registry().models if spec.modality == normalise(modality)})
    if own:
        raise ConfigError(
            f"modality {modality!r}: no plugin names data and models to compare (zoo_comparisons); name them, as in "
            f"--models {','.join(own[:2])} --data SOURCE. Modalities with both are {listed(names)}"
        )
    return known.split(modality)[0]  # an unknown name, with its neighbours


def quick_sizes(config: StudyConfig) -> StudyConfig:
    """Make a study of a modality's own data smaller, as its plugin says; what the user chose stays."""
    for each in registry().comparisons:
        if config.data == each.data:
            sizes = config.sizes or each.quick_sizes or None
            return replace(config, sizes=sizes, steps=config.steps or each.quick_steps)
    return config


def _named(modality: str, models: Sequence[str]) -> ComparisonSpec | None:
    """Give what is compared for a modality; None where nothing is.

    Raises:
        ConfigError: If there are models, whose data have to be known then.
    """
    plugin, _, name = modality.rpartition(":")
    found = registry().comparisons.get(name, plugin)
    if found is None and models:
        raise ConfigError(f"{listed(models)}: no plugin names data for modality {modality!r}; name some with --data")
    return found


def _check_same(specs: Sequence[ModelSpec], modality: str, asked: ComparisonSpec | None) -> None:
    """Refuse models that do not read the same data."""
    different = {spec.modality: spec.name for spec in reversed(specs)}
    if len(different) > 1:
        shown = listed([f"{name} ({own})" for own, name in reversed(different.items())])
        raise ConfigError(f"models of different modalities cannot be compared: {shown}; name those of one")
    if asked and different and asked.name not in different:
        raise ConfigError(
            f"--modality {modality}: {specs[0].name} is of modality {specs[0].modality!r}; leave --modality out, or "
            f"name models such as {', '.join(asked.models[:2])}"
        )


def _modality_of(data: str) -> str:
    """Give the modality of a source that is named; empty where a path, or a source for all, says none."""
    source = registry().sources.get(data.partition(":")[0])
    return source.modality if source else ""
