"""From a name to a model, and what can be asked about a name: the functions of `import zoo`.

torch is imported by `create`, `example` and `preprocess` only.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zoo.errors import ConfigError
from zoo.factory import attention_argument as swap
from zoo.factory import from_hub, keywords
from zoo.names import did_you_mean, listed, matches
from zoo.registry import entry_loading as entries
from zoo.registry.lookup import registry
from zoo.spec import ModelSpec, PluginInfo
from zoo.weights import hub
from zoo.weights.config_values import plain

if TYPE_CHECKING:
    import torch

    from zoo.weights.checkpoint import Checkpoint


def create(
    name: str,
    pretrained: bool = False,
    *,
    weights: Any = None,
    task: str | None = None,
    num_classes: int | None = None,
    attention: Any = None,
    position: Any = None,
    device: Any = None,
    dtype: Any = None,
    **overrides: Any,
) -> "torch.nn.Module":
    """Make a model by name.

    Args:
        name: `family-size`, also with a plugin in front or a tag behind, `timm:NAME`, `hf-hub:org/name` or
            `local-dir:PATH`.
        pretrained: load the published weights, those of the name's tag if it has one.
        weights: a file, a folder, a state dict, or `hf-hub:org/name`.
        task: `classify`, `tag`, `generate` or `features`.
        num_classes: labels; 0 for features. Without it, as many as the weights have, or the model's own; with
            another number than the weights have, the classifier is fresh.
        attention: names such as `window:16 & causal`, a `Pattern`, or a callable `(dim, num_heads)`; what it makes
            keeps a state for decoding if it is a `zoo.core.Attention`.
        position: a name such as `sinusoidal`.
        device: where the parameters are made.
        dtype: what they are at the end, as a floating `torch.dtype` or its name.
        overrides: what else the model's configuration has; None means not given.

    Raises:
        UnknownModelError: If nobody knows the name.
        ConfigError: If a value does not fit.
        MissingLibraryError: If the model needs a library that is not there.
        WeightsError: If weights cannot be read or do not fit.
    """
    spec, tag = _find(name)
    swaps = {"task": task, "num_classes": num_classes, "attention": attention, "position": position}
    given = {keyword: value for keyword, value in (swaps | overrides).items() if value is not None}
    entry = entries.load(spec)
    registry().call("zoo_before_create", spec=spec, overrides=given)
    keywords.check(spec, entry, given)
    final = None if dtype is None else _dtype(dtype)
    if weights is None and not pretrained:
        model: Any = _build(spec, entry, given, device)
    else:
        from zoo.weights.checkpoint import find

        checkpoint = find(spec, tag, pretrained, weights)
        assert checkpoint is not None
        model = _load(spec, entry, given, device, checkpoint)
    if final is not None:
        model = model.to(final)
    model.spec = _resolved(spec, given, model)
    registry().call("zoo_after_create", model=model, spec=model.spec)
    return model


create_model = create


def list_models(
    filter: str | Sequence[str] = "",
    *,
    modality: str | None = None,
    pretrained: bool = False,
    exclude: str | Sequence[str] = "",
) -> list[str]:
    """List names in natural order.

    Args:
        filter: wildcards such as `vit-*`, one or several; all names without.
        modality: only these models.
        pretrained: list the published weights, as `name.tag`.
        exclude: wildcards of names to leave out.

    Raises:
        ConfigError: If no model has the modality.
    """
    models = registry().models
    modalities = sorted({spec.modality for spec in models})
    if modality is not None and modality not in modalities:
        raise ConfigError(f"Unknown modality ({modality}).{did_you_mean(modality, modalities)} {listed(modalities)}")
    names = []
    for spec in models:
        short = models.short(spec)
        same = (short, spec.full_name)
        if modality in (None, spec.modality):
            for shown in [f"{short}.{tag}" for tag in spec.weights] if pretrained else [short]:
                wanted = not filter or any(matches(each, filter) for each in (*same, shown))
                if wanted and not any(matches(each, exclude) for each in (*same, shown)):
                    names.append(shown)
    return names


def info(name: str) -> ModelSpec:
    """Describe a model; nothing is built and torch is not imported."""
    return _find(name)[0]


def example(name: str, batch_size: int = 2, seed: int = 0) -> tuple[Any, ...]:
    """Make inputs, so that `model(*zoo.example(name))` runs."""
    spec = info(name)
    return entries.load(spec, spec.example)(spec.config, batch_size, seed)


def preprocess(name: str, train: bool = False) -> Callable[..., Any]:
    """Give what turns a raw input into a model's input.

    Args:
        name: the model; with a tag behind, as those weights were trained.
        train: with augmentation.

    Raises:
        ConfigError: If the model's inputs need no preprocessing.
    """
    spec, tag = _find(name)
    if spec.preprocess is None:
        raise ConfigError(f"Model '{spec.name}' has no preprocessing: it reads tensors, see zoo.example('{name}')")
    return entries.load(spec, spec.preprocess)(_placed(spec, tag), train)


def postprocess(name: str) -> Callable[..., Any]:
    """Give what turns a model's answer into what users read: labels, or text.

    Args:
        name: the model; with a tag behind, or a repository, for the labels and texts of those weights.

    Raises:
        ConfigError: If the model's answers are read as they are.
    """
    spec, tag = _find(name)
    if spec.postprocess is None:
        raise ConfigError(f"Model '{spec.name}' gives scores, and nothing turns them into names")
    return entries.load(spec, spec.postprocess)(_placed(spec, tag))


def _placed(spec: ModelSpec, tag: str) -> dict[str, Any]:
    """Say with the configuration which weights were named, and where they are; or where the default ones are."""
    where = spec.weights.get(tag or "hub")
    if where:
        return {**spec.config, "repository": where, **({"tag": tag} if tag else {})}
    return {**spec.config, **({"default": next(iter(spec.weights.values()))} if spec.weights else {})}


def plugins() -> list[PluginInfo]:
    """Report what became of each plugin."""
    return registry().plugins()


def _find(name: str) -> tuple[ModelSpec, str]:
    return (from_hub.spec_of(name), "") if hub.is_repository(name) else registry().find(name)


def _build(spec: ModelSpec, entry: Callable[..., Any], given: dict[str, Any], device: Any) -> "torch.nn.Module":
    chosen = given.get("attention", spec.config.get("attention"))
    attention = None if chosen is None else swap.attention(chosen)
    arguments = keywords.arguments(spec, entry, given, attention)
    with _place(device), keywords.named(spec, given):
        return entry(**arguments)


def _place(device: Any) -> AbstractContextManager[Any]:
    if device is None:
        return nullcontext()
    import torch

    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ConfigError(f"device={device!r} is no device: {error}") from error
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device={device!r}: torch sees no GPU here")
    return found


def _load(
    spec: ModelSpec, entry: Callable[..., Any], given: dict[str, Any], device: Any, checkpoint: "Checkpoint"
) -> "torch.nn.Module":
    """Build a model and load a checkpoint; a classifier for other labels or another task stays fresh, as in timm."""
    from zoo.weights.checkpoint import classifier, fit, labels

    if "num_classes" not in keywords.accepted(entry)[0]:
        model = _build(spec, entry, given, device)
        model.load_state_dict(fit(model, checkpoint, spec))
        return model
    theirs = _count_classes(spec, entry, given, checkpoint)
    if theirs is not None:
        given.setdefault("num_classes", theirs)
    model = _build(spec, entry, given, device)
    if theirs is None and "num_classes" in given:
        state = _converted(spec, entry, given, checkpoint, model)
        names = classifier(spec, model, state)
        theirs = labels(state, names)
        if names and not any(key.startswith(names) for key in state):
            theirs = 0  # a backbone alone fits every classifier that is asked for
    same = given.get("task", spec.task) == (checkpoint.task or spec.task)
    unsaid = checkpoint.task is None and not same and not _fits_own_task(spec, entry, given, checkpoint, theirs)
    if theirs is None or ((same or unsaid) and given.get("num_classes", theirs) == theirs):
        model.load_state_dict(fit(model, checkpoint, spec))
        return model
    whole = model if same else _with_head(spec, entry, given, checkpoint, theirs)
    state = _converted(spec, entry, given, checkpoint, whole)
    names = classifier(spec, whole, state, theirs)
    backbone = fit(whole, replace(checkpoint, state=state), replace(spec, convert=None), fresh=names)
    model.load_state_dict(backbone, strict=False)
    return model


def _count_classes(
    spec: ModelSpec, entry: Callable[..., Any], given: dict[str, Any], checkpoint: "Checkpoint"
) -> int | None:
    """Say how many labels a checkpoint has: as its configuration or its classifier tells, before the model is built.

    A classifier in another library's layout, or that the plugin does not name, shows on a model without memory; if the
    number is given, on the model itself.
    """
    from zoo.weights.checkpoint import classifier, converted, labels

    theirs = checkpoint.num_classes
    if theirs is None:
        theirs = labels(checkpoint.state, spec.classifier)
    if theirs is not None or "num_classes" in given or (spec.classifier and not spec.convert):
        return theirs
    whole = _with_head(spec, entry, given, checkpoint, spec.config.get("num_classes") or 1)
    state = converted(whole, checkpoint, spec)
    return labels(state, classifier(spec, whole, state))


def _with_head(
    spec: ModelSpec, entry: Callable[..., Any], given: dict[str, Any], checkpoint: "Checkpoint", labels: int
) -> "torch.nn.Module":
    """Build the model with the head of the checkpoint's task, without memory."""
    rest = {keyword: value for keyword, value in given.items() if keyword not in ("num_classes", "task")}
    task = {} if checkpoint.task is None else {"task": checkpoint.task}
    return _build(spec, entry, {**rest, **task, "num_classes": labels}, "meta")


def _converted(
    spec: ModelSpec,
    entry: Callable[..., Any],
    given: dict[str, Any],
    checkpoint: "Checkpoint",
    model: "torch.nn.Module",
) -> dict[str, "torch.Tensor"]:
    """Bring a checkpoint to our layout; what converts it may count on a classifier, which the model may not have."""
    from zoo.weights.checkpoint import converted

    if spec.convert and not getattr(model, "num_classes", 0):
        labels = checkpoint.num_classes or spec.config.get("num_classes") or 1
        model = _with_head(spec, entry, given, checkpoint, labels)
    return converted(model, checkpoint, spec)


def _fits_own_task(
    spec: ModelSpec, entry: Callable[..., Any], given: dict[str, Any], checkpoint: "Checkpoint", theirs: int | None
) -> bool:
    """Say whether a checkpoint that does not tell its task has all that the task of the model's name needs."""
    from zoo.weights.checkpoint import converted

    rest = {keyword: value for keyword, value in given.items() if keyword != "task"}
    whole = _build(spec, entry, rest if theirs is None else {**rest, "num_classes": theirs}, "meta")
    return whole.state_dict().keys() <= converted(whole, checkpoint, spec).keys()


def _dtype(dtype: Any) -> Any:
    import torch

    found = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
    if not isinstance(found, torch.dtype):
        raise ConfigError(f"dtype={dtype!r} is no dtype: write torch.bfloat16 or 'bfloat16'")
    if not found.is_floating_point:
        raise ConfigError(f"dtype={dtype!r} holds no fractions: parameters are floating, write 'bfloat16' or 'float32'")
    return found


def _resolved(spec: ModelSpec, given: dict[str, Any], model: "torch.nn.Module") -> ModelSpec:
    settings = {keyword: plain(value) for keyword, value in given.items()}
    count = sum(parameter.numel() for parameter in model.parameters())
    return replace(spec.with_config(**settings), task=settings.get("task", spec.task), parameters=count)
