"""Models for `torch.hub.load("OWNER/REPOSITORY", "create", "vit-small")`: each name of `zoo.list_models()`."""

dependencies = ["torch", "pluggy", "safetensors", "huggingface_hub"]

import zoo  # noqa: E402


def create(name: str, pretrained: bool | None = None, **options: object) -> object:
    """Make a model by name; see `zoo.create`.

    Args:
        name: such as `vit-small`, `bert-base` or `hf-hub:org/name`.
        pretrained: load the published weights.
        options: of `zoo.create`, such as `num_classes`.
    """
    return zoo.create(name, pretrained, **options)  # type: ignore[arg-type]


def preprocess(name: str, train: bool = False) -> object:
    """Give what turns raw inputs into those of a model; see `zoo.preprocess`."""
    return zoo.preprocess(name, train)


def _entry(name: str) -> object:
    def model(pretrained: bool | None = None, **options: object) -> object:
        return create(name, pretrained, **options)

    model.__name__ = name.replace("-", "_")
    model.__doc__ = f"Make `{name}`; see `zoo.create`."
    return model


globals().update({name.replace("-", "_"): _entry(name) for name in zoo.list_models()})
