"""`zoo.from_pretrained`: a model with its weights, in the words of Hugging Face's libraries."""

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.errors import ConfigError
from zoo.factory.create import create
from zoo.weights import hub

if TYPE_CHECKING:
    import torch


def from_pretrained(name: "str | PathLike[str]", *, revision: str | None = None, **options: Any) -> "torch.nn.Module":
    """Make a model with its weights: those of a repository, which nobody need have listed, of a folder, or of a name.

    `from_pretrained("org/name")` is `create("hf-hub:org/name")`, `from_pretrained("vit-small")` is
    `create("vit-small", pretrained=True)`.

    Args:
        name: `org/name` on the Hugging Face Hub, a folder that `zoo train` or `zoo.weights.save` wrote, or a model with
            published weights.
        revision: branch, tag or commit of a repository.
        options: of `create`, such as `num_classes`.

    Raises:
        ConfigError: If a revision is of no repository.
        UnknownModelError: If there is no such model.
        WeightsError: If weights cannot be read or do not fit.
    """
    where = fspath(name)
    folder = Path(where).expanduser()
    if not hub.is_repository(where):
        if folder.is_dir():
            where = f"local-dir:{folder}"
        elif "/" in where:
            where = f"hf-hub:{where}"
    if revision is not None:
        if not where.startswith("hf-hub:"):
            raise ConfigError(f"revision={revision!r} of {where!r}: a repository, such as 'org/name', has revisions")
        where = f"{where}@{revision}"
    return create(where, True, **options)
