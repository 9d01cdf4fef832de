"""`create`, `list_models`, `info` and the like: the functions of `import zoo`.

torch is imported by `create`, `example` and `preprocess` only.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zoo.errors import ConfigError
from zoo.factory import attention_argument, hub_config, keywords
from zoo.names import did_you_mean, listed, matches
from zoo.registry import entry_loading
from zoo.registry.lookup import registry
from zoo.spec import ModelSpec, PluginInfo
from zoo.weights import hub
from zoo.weights.config_values import plain

if TYPE_CHECKING:
    import torch

    from zoo.weights.checkpoint import Checkpoint


EXPLORER = "zoo.viz.explorer.exploration:explore"
"""What `model.explore` calls; nothing of it is imported before."""
_HEAD = "head."
"""How the keys of the part that answers begin in a `zoo.core.Model`."""


def create(
    name: str,
    pretrained: bool | None = None,
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
        name: `family-size`, with an optional plugin before or tag after it, `timm:NAME`, `hf-hub:org/name` or
            `local-dir:PATH`.
        pretrained: load the published weights, those of the name's tag if it has one; by default those of a repository
            are loaded, and no others.
        weights: a file, a folder, a state dict, or `hf-hub:org/name`.
        task: `classify`, `tag`, `generate` or `features`.
        num_classes: number of labels; 0 for features. By default that of the weights, or the model's own; where it
            differs from that of the weights, the classifier is new.
        attention: names such as `window:16 & causal`, a `Pattern`, or a callable `(dim, num_heads)`; to decode with a
            cache, it makes a `zoo.core.Attention`.
        position: position encoding, such as `sinusoidal`.
        device: of the parameters.
        dtype: of the parameters: a floating `torch.dtype` or its name.
        overrides: of the model's configuration; None means not given. `features_only=True` gives a backbone whose
            answer is a list of feature maps, with `feature_info`, as in timm; `out_indices` says which.

    Raises:
        UnknownModelError: If no plugin has the name.
        ConfigError: If a value does not fit.
        MissingLibraryError: If the model needs a library that is not installed.
        WeightsError: If weights cannot be read or do not fit.
    """
    spec, tag = _find(name)
    features_only, out_indices = bool(overrides.pop("features_only", False)), overrides.pop("out_indices", None)
    if out_indices is not None and not features_only:
        raise ConfigError(f"out_indices={out_indices} without features_only=True: the model gives no feature maps")
    quantization = None
    named = {"task": task, "num_classes": num_classes, "attention": attention, "position": position}
    given = {keyword: value for keyword, value in (named | overrides).items() if value is not None}
    entry = entry_loading.load(spec)
    pretrained = hub.is_pretrained(name, pretrained)
    if pretrained and weights is None and not hub.is_repository(name) and "pretrained" in keywords.accepted(entry)[0]:
        given["pretrained"], pretrained = True, False  # its parts have weights of their own
    with hub_config.checked(name, spec, entry, dict(given)) if hub.is_repository(name) else nullcontext():
        registry().call("zoo_before_create", spec=spec, overrides=given)
        keywords.check(spec, entry, given)
        final = None if dtype is None else _dtype(dtype)
        if weights is None and not pretrained:
            model: Any = _build(spec, entry, given, device)
        else:
            from zoo.weights.checkpoint import find

            checkpoint = find(spec, tag, pretrained, weights)
            assert checkpoint is not None
            quantization = checkpoint.quantization
            given |= _told(spec, given, checkpoint)
            with hub_config.advised(None if weights is None else checkpoint.repository, spec, given):
                model = _load(spec, entry, given, device, checkpoint)
            if checkpoint.repository:
                spec = replace(spec, weights={"hub": checkpoint.repository})
    if final is not None:
        model = model.to(final)
    model.spec = _resolved(spec, given, model)
    if hasattr(model, "explorer"):
        model.explorer = EXPLORER
    if features_only:
        model = _feature_maps(model, spec, out_indices)
    if quantization is not None:
        model = _quantized(model, quantization, name, device)
    registry().call("zoo_after_create", model=model, spec=model.spec)
    return model


create_model = create


def _feature_maps(model: Any, spec: ModelSpec, out_indices: Any) -> Any:
    """Make a backbone of feature maps, where a model has them."""
    if not hasattr(model, "feature_maps"):
        raise ConfigError(
            f"features_only=True: '{spec.name}' gives no feature maps; its vectors come from forward_features, and "
            "those of each block from forward_intermediates"
        )
    backbone = model.feature_maps(out_indices)
    backbone.spec = model.spec
    return backbone


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
    return entry_loading.load(spec, spec.example)(spec.config, batch_size, seed)


def preprocess(name: "str | torch.nn.Module", train: bool = False) -> Callable[..., Any]:
    """Return the preprocessing of a model: raw inputs to tensors.

    Args:
        name: of the model, with a tag as those weights were trained; or a model that `create` made.
        train: with augmentation.

    Raises:
        ConfigError: If the model's inputs need no preprocessing.
    """
    spec, tag = _described(name)
    if spec.preprocess is None:
        raise ConfigError(f"Model '{spec.name}' has no preprocessing: it reads tensors, see zoo.example('{spec.name}')")
    return entry_loading.load(spec, spec.preprocess)(_placed(spec, tag), train)


def postprocess(name: "str | torch.nn.Module") -> Callable[..., Any]:
    """Return the postprocessing of a model: outputs to labels or texts.

    Args:
        name: of the model, with a tag, or a repository, for the labels and texts of those weights; or a model that
            `create` made, for those of its own.

    Raises:
        ConfigError: If the model's answers are read as they are.
    """
    return postprocess_for(name, None)


def postprocess_for(name: "str | torch.nn.Module", task: str | None) -> Callable[..., Any]:
    """Return the postprocessing of a model that was made for a task; None for its usual one. See `postprocess`."""
    spec, tag = _described(name)
    spec = spec if task is None else spec.with_config(task=task)
    if spec.postprocess is None:
        raise ConfigError(
            f"Model '{spec.name}' has no postprocessing: its answer is read as it is, vectors or scores without names"
        )
    return entry_loading.load(spec, spec.postprocess)(_placed(spec, tag))


def _placed(spec: ModelSpec, tag: str) -> dict[str, Any]:
    """Add to the configuration where the named weights are, or the default ones."""
    where = spec.weights.get(tag or "hub")
    if where:
        return {**spec.config, "repository": where, **({"tag": tag} if tag else {})}
    return {**spec.config, **({"default": next(iter(spec.weights.values()))} if spec.weights else {})}


def plugins() -> list[PluginInfo]:
    """List plugins with their status."""
    return registry().plugins()


def _find(name: str) -> tuple[ModelSpec, str]:
    return (hub_config.spec_of(name), "") if hub.is_repository(name) else registry().find(name)


def _described(name: "str | torch.nn.Module") -> tuple[ModelSpec, str]:
    """Return the record of a name, or of a model, and the tag."""
    if isinstance(name, str):
        return _find(name)
    spec = getattr(name, "spec", None)
    if not isinstance(spec, ModelSpec):
        raise ConfigError(f"{type(name).__name__} has no spec: give a name, or a model that zoo.create made")
    return spec, ""


def _build(spec: ModelSpec, entry: Callable[..., Any], given: dict[str, Any], device: Any) -> "torch.nn.Module":
    chosen = given.get("attention", spec.config.get("attention"))
    attention = None if chosen is None else attention_argument.attention(chosen)
    arguments = keywords.arguments(spec, entry, given, attention)
    with place(device), keywords.named(spec, given):
        return entry(**arguments)


def place(device: Any) -> AbstractContextManager[Any]:
    """Give a context in which tensors are made on a device, or none.

    Raises:
        ConfigError: If there is no such device.
    """
    if device is None:
        return nullcontext()
    import torch

    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ConfigError(f"device={device!r} is no device: write cpu, cuda, cuda:1 (the second GPU) or mps") from error
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device={device!r}: torch sees no GPU here")
    try:
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError) as error:  # such as mps on Linux, or a GPU too many
        raise ConfigError(f"device={device!r} is not on this machine, as torch sees it") from error
    return found


def _load(
    spec: ModelSpec, entry: Callable[..., Any], given: dict[str, Any], device: Any, checkpoint: "Checkpoint"
) -> "torch.nn.Module":
    """Build a model and load a checkpoint.

    A classifier for other labels or another task is new, as in timm. A head that the checkpoint lacks is new too, with
    a warning, as in Hugging Face's libraries.
    """
    from zoo.weights.checkpoint import classifier, fit, labels, load

    given |= _symbols(spec, entry, given, checkpoint)
    if "num_classes" not in keywords.accepted(entry)[0]:
        model = _build(spec, entry, given, device)
        model.load_state_dict(fit(model, checkpoint, spec))
        return model
    if given.get("task", spec.task) == "generate" and checkpoint.task in (None, "generate"):
        model = _build(spec, entry, given, device)
        if _load_writing(spec, model, checkpoint):
            return model
    saved_classes = _count_classes(spec, entry, given, checkpoint)
    if saved_classes is not None:
        given.setdefault("num_classes", saved_classes)
    model = _build(spec, entry, given, device)
    if saved_classes is None and "num_classes" in given:
        state = _converted(spec, entry, given, checkpoint, model)
        names = classifier(spec, model, state)
        saved_classes = labels(state, names)
        if names and not any(key.startswith(names) for key in state):
            saved_classes = 0  # a backbone alone fits every classifier that is asked for
    same = given.get("task", spec.task) == (checkpoint.task or spec.task)
    unsaid = checkpoint.task is None and not same and not _fits_own_task(spec, entry, given, checkpoint, saved_classes)
    if saved_classes is None or ((same or unsaid) and given.get("num_classes", saved_classes) == saved_classes):
        head = (_HEAD, *classifier(spec, model, checkpoint.state))
        load(model, fit(model, checkpoint, spec, optional=head), checkpoint)
        return model
    whole = model if same else _with_head(spec, entry, given, checkpoint, saved_classes)
    state = _converted(spec, entry, given, checkpoint, whole)
    names = classifier(spec, whole, state, saved_classes)
    head = (_HEAD, *names)
    backbone = fit(whole, replace(checkpoint, state=state), replace(spec, convert=None), fresh=names, optional=head)
    labelled = names if any(key.startswith(names) for key in state) else ()
    own = model.state_dict()
    load(
        model,
        {key: value for key, value in backbone.items() if key in own},
        checkpoint,
        [key for key in own if key in state or key.startswith(labelled)],
    )
    return model


def _quantized(model: "torch.nn.Module", quantization: Mapping[str, Any], name: str, device: Any) -> "torch.nn.Module":
    """Make the weights of a model int8, as its checkpoint says they are; these are for CPUs."""
    from zoo.core import quantize

    if device is not None and not str(device).startswith("cpu"):
        raise ConfigError(
            f"device={device!r}: the weights of {name!r} are int8, which is for CPUs: leave device= out, or take the "
            "model in float32 or bfloat16 that they were made from"
        )
    return quantize(model, **quantization)


def told(name: str, pretrained: bool | None, weights: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Give the keywords that the weights of a model tell, its vocabulary among them whatever the task.

    Args:
        name: as for `create`.
        pretrained: as for `create`.
        weights: as for `create`.
        given: keywords of the caller, which go before them.
    """
    spec, tag = _find(name)
    if spec.configure is None:
        return {}
    from zoo.weights.checkpoint import find

    checkpoint = find(spec, tag, hub.is_pretrained(name, pretrained), weights)
    return {} if checkpoint is None else _told(spec, given, checkpoint, writes=True)


def _told(
    spec: ModelSpec, given: Mapping[str, Any], checkpoint: "Checkpoint", writes: bool | None = None
) -> dict[str, Any]:
    """Give the keywords that a checkpoint of another library tells and the caller did not give.

    A vocabulary is that of a model that writes, and there is none where the caller has one of another size.
    """
    if spec.configure is None or checkpoint.architecture is not None:
        return {}
    told = entry_loading.load(spec, spec.configure)(checkpoint.state, checkpoint.repository, spec, given)
    writes = given.get("task", spec.task) == "generate" if writes is None else writes
    if "labels" in told and given.get("vocab_size", len(told["labels"])) != len(told["labels"]):
        told |= {"labels": [], "blank": 0}
    left_out = {"task"} if writes else {"task", "labels", "blank", "vocab_size"}
    return {keyword: value for keyword, value in told.items() if keyword not in given and keyword not in left_out}


def _symbols(
    spec: ModelSpec, entry: Callable[..., Any], given: Mapping[str, Any], checkpoint: "Checkpoint"
) -> dict[str, Any]:
    """Give the ids of the special tokens that the files beside a checkpoint tell, where the model takes them."""
    from zoo.weights.token_ids import model_symbols

    if not checkpoint.repository or "symbols" in given or "symbols" not in keywords.accepted(entry)[0]:
        return {}
    symbols = model_symbols(checkpoint.repository, given.get("vocab_size", spec.config.get("vocab_size")))
    return {} if symbols is None else {"symbols": symbols}


def _load_writing(spec: ModelSpec, model: "torch.nn.Module", checkpoint: "Checkpoint") -> bool:
    """Load a checkpoint whose head writes tokens, if it is such a one; a head for another vocabulary stays new."""
    from zoo.weights.checkpoint import converted, fit, load

    state, own = converted(model, checkpoint, spec), model.state_dict()
    head = [key for key in own if key.startswith(_HEAD)]
    if not head or any(key not in state for key in head):
        return False
    other = any(state[key].shape != own[key].shape for key in head)
    whole = replace(checkpoint, state=state)
    found = fit(model, whole, replace(spec, convert=None), fresh=(_HEAD,) if other else ())
    load(model, found, checkpoint, replaced=head)
    return True


def _count_classes(
    spec: ModelSpec, entry: Callable[..., Any], given: dict[str, Any], checkpoint: "Checkpoint"
) -> int | None:
    """Say how many labels a checkpoint has: as its configuration or its classifier tells, before the model is built.

    A classifier in another library's layout, or that the plugin does not name, shows on a model without memory; if the
    number is given, on the model itself.
    """
    from zoo.weights.checkpoint import classifier, converted, labels

    saved_classes = checkpoint.num_classes
    if saved_classes is None:
        saved_classes = labels(checkpoint.state, spec.classifier)
    if saved_classes is not None or "num_classes" in given or (spec.classifier and not spec.convert):
        return saved_classes
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
    spec: ModelSpec,
    entry: Callable[..., Any],
    given: dict[str, Any],
    checkpoint: "Checkpoint",
    saved_classes: int | None,
) -> bool:
    """Say whether a checkpoint that does not tell its task has all that the task of the model's name needs."""
    from zoo.weights.checkpoint import converted

    rest = {keyword: value for keyword, value in given.items() if keyword != "task"}
    whole = _build(spec, entry, rest if saved_classes is None else {**rest, "num_classes": saved_classes}, "meta")
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
    settings = {keyword: plain(value) for keyword, value in given.items() if not keywords.is_weights(keyword)}
    count = sum(parameter.numel() for parameter in model.parameters())
    return replace(spec.with_config(**settings), task=settings.get("task", spec.task), parameters=count)
