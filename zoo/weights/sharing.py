"""`push`: a model or a run folder, with a card, to a repository of the Hugging Face Hub."""

import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zoo.errors import ConfigError, WeightsError
from zoo.weights import hub
from zoo.weights.card import EVALUATION, RECORD, card

FILES = (
    "config.json", "model.safetensors", "tokenizer.json", "special_tokens_map.json", "labels.json", "losses.png",
    RECORD, EVALUATION, "source/tokenizer.json", "source/special_tokens_map.json",
)  # fmt: skip
"""Of a run folder, what is sent; checkpoints of the training are not."""
BESIDE = (
    "tokenizer.json", "special_tokens_map.json", "labels.json", "source/tokenizer.json",
    "source/special_tokens_map.json",
)  # fmt: skip
"""Of the folder or repository that a model object came from, what is sent with it."""
PREPARATION = ("input_size", "mean", "std", "interpolation", "crop_pct", "crop_mode")
"""Of the `pretrained_cfg` there, in timm's words, what says how inputs are prepared."""
CARD = "README.md"


def push(
    source: Any,
    repository: str,
    *,
    licence: str = "",
    limits: str = "",
    private: bool = False,
    revision: str | None = None,
    message: str = "Add weights",
    token: str | None = None,
) -> str:
    """Send a model with a generated card to the hub, for `zoo.create("hf-hub:org/name")`; give its address.

    The card says what the model is, its data, scores with their intervals, the command that made it, limits and
    licence. A `README.md` in the folder is sent as it is, in its place.

    Args:
        source: folder of a run or of `zoo.weights.save`, or a model made by `zoo.create`: with tokenizer, labels and
            preparation of the folder or repository that it came from, and a warning where it came from none.
        repository: `org/name`; it is made if it is not there.
        licence: of the weights, by the hub's identifier, such as `apache-2.0`.
        limits: what the weights are not for; without, the card says what no score tells.
        private: whether the repository, if it is new, is private.
        revision: branch, made if it is not there; the main one by default.
        message: of the commit.
        token: of the hub; by default that of `hf auth login` or HF_TOKEN.

    Raises:
        ConfigError: If the repository is no `org/name`, or there is no licence and no README.md that tells one.
        WeightsError: If the folder holds no weights, or the hub refuses them.
    """
    where = repository.removeprefix("hf-hub:")
    if len(where.split("/")) != 2 or not all(where.split("/")):
        raise ConfigError(f"repository {repository!r}: write org/name")
    with _folder(source) as folder:
        own = folder / CARD
        if not licence and not own.is_file():
            raise ConfigError(f"push to {where!r} without a licence: give one, such as licence='apache-2.0'")
        text = (
            own.read_text(encoding="utf-8") if own.is_file() else card(folder, where, licence, limits, *_told(folder))
        )
        files = {name: folder / name for name in FILES if (folder / name).is_file()}
        return _sent(where, files, text, private=private, revision=revision, message=message, token=token)


push_to_hub = push


@contextmanager
def _folder(source: Any) -> Iterator[Path]:
    """Give the folder of weights: that which is named, or one that a model is saved to."""
    if isinstance(source, str | os.PathLike):
        path = Path(str(source).removeprefix("local-dir:")).expanduser()
        if not (path / "config.json").is_file() or not (path / "model.safetensors").is_file():
            raise WeightsError(
                f"{str(source)!r} holds no config.json and model.safetensors: zoo train --out makes them"
            )
        yield path
        return
    from zoo.weights.checkpoint import save

    with tempfile.TemporaryDirectory() as scratch:
        where = _origin(source)
        told = (hub.read_config(where).get("pretrained_cfg") or {}) if where else {}
        folder = save(source, scratch, {key: told[key] for key in PREPARATION if key in told})
        for name in BESIDE if where else ():
            found = hub.fetch(where, (name,))
            if found and (name != "labels.json" or _fits(found, source)):
                (folder / name).parent.mkdir(exist_ok=True)
                shutil.copyfile(found, folder / name)
        yield folder


def _origin(model: Any) -> str:
    """Give the folder or repository that a model's weights came from; empty, with a warning, where none is known."""
    where = str(getattr(getattr(model, "spec", None), "weights", {}).get("hub", ""))
    if where and (not where.startswith("local-dir:") or Path(where.removeprefix("local-dir:")).expanduser().is_dir()):
        return where
    gone = f"its folder {where!r} is gone" if where else "it came from no folder and no repository"
    warnings.warn(
        f"push of a model without tokenizer, labels and preparation, as {gone}: to send them, push their folder",
        stacklevel=4,
    )
    return ""


def _fits(labels: Path, model: Any) -> bool:
    """Say whether there is a name for each label of a model, which may have a new classifier."""
    return len(json.loads(labels.read_text(encoding="utf-8"))) == getattr(model, "num_classes", None)


def _told(folder: Path) -> tuple[str, str]:
    """Give what the model of a folder reads and its usual task, as its record says; empty where no plugin has it."""
    from zoo.errors import ZooError
    from zoo.registry.lookup import registry

    try:
        spec, _ = registry().find(str(hub.read_config(f"local-dir:{folder}").get("architecture", "")))
    except ZooError:
        return "", ""
    return spec.reads, spec.task


def _sent(
    repository: str,
    files: dict[str, Path],
    text: str,
    *,
    private: bool,
    revision: str | None,
    message: str,
    token: str | None,
) -> str:
    from huggingface_hub import CommitOperationAdd, HfApi

    api = HfApi(token=token)
    operations = [CommitOperationAdd(CARD, text.encode())]
    operations += [CommitOperationAdd(name, str(path)) for name, path in files.items()]
    try:
        url = api.create_repo(repository, private=private, exist_ok=True)
        if revision:
            api.create_branch(repository, branch=revision, exist_ok=True)
        api.create_commit(repository, operations, commit_message=message, revision=revision)
    except Exception as error:  # of httpx, or of the hub, by the version of huggingface_hub
        status = getattr(getattr(error, "response", None), "status_code", None)
        hint = (
            ": log in with `hf auth login`, or set HF_TOKEN to a token that may write" if status in (401, 403) else ""
        )
        raise WeightsError(f"push to {repository!r}: {type(error).__name__}: {error}{hint}") from error
    return str(url)
