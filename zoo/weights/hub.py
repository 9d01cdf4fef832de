"""Repositories of weights: `hf-hub:org/name[@revision]`, `local-dir:PATH`; with a `config.json` in the layout of timm.

{"architecture": "vit-small", "num_classes": 10, "num_features": 384, "model_args": {...}, "pretrained_cfg": {...},
 "modality": "vision", "zoo_version": "0.1.0", "plugin": "vision"}

With int8 weights, `quantization` has the keywords of `zoo.quantize`. Where the weights are in the layout of another
library, `architecture` and `model_args` are that library's, and ours stand under `zoo`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.errors import WeightsError
from zoo.names import split_prefix
from zoo.version import __version__

FILES = ("model.safetensors", "model.pth", "pytorch_model.pth", "pytorch_model.bin", "model.bin")
"""In the order in which they are preferred; only the first holds no pickle."""


_TYPES: dict[str, tuple[type, str]] = {
    "architecture": (str, "a string"),
    "num_classes": (int, "a number"),
    "model_args": (dict, "a JSON object, {…}"),
    "pretrained_cfg": (dict, "a JSON object, {…}"),
    "plugin": (str, "a string"),
    "zoo_version": (str, "a string"),
    "zoo": (dict, "a JSON object, {…}"),
    "quantization": (dict, "a JSON object, {…}"),
}
"""Of the values of a `config.json` that are read; null counts as not there."""


def is_repository(name: str) -> bool:
    """Say whether a name or `weights=` text is a repository."""
    return split_prefix(name)[0].lower().replace("_", "-") in ("hf-hub", "local-dir")


def is_pretrained(name: str, pretrained: bool | None) -> bool:
    """Say whether a model is made with its weights; unless it is told, a repository is and a plain name is not."""
    return is_repository(name) if pretrained is None else pretrained


def read_config(reference: str) -> dict[str, Any]:
    """Read a repository's `config.json`, ours in place of another library's; an empty dictionary where it has none.

    Raises:
        WeightsError: If the repository cannot be reached, the file is no JSON object, or a value is of another type.
    """
    config = read_json(reference, "config.json")
    _check_types(reference, config)
    config |= config.pop("zoo", None) or {}
    _check_types(reference, config)
    return config


def read_json(reference: str, filename: str) -> dict[str, Any]:
    """Read a JSON file of a repository; an empty dictionary where it has none.

    Raises:
        WeightsError: If the repository cannot be reached, or the file is no JSON object.
    """
    path = fetch(reference, (filename,))
    if path is None:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise WeightsError(f"{reference!r}: {filename} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise WeightsError(f"{reference!r}: {filename} does not hold a JSON object, {{…}}")
    return found


def _check_types(reference: str, config: Mapping[str, Any]) -> None:
    for key, (kind, name) in _TYPES.items():
        if config.get(key) is not None and not isinstance(config[key], kind):
            raise WeightsError(
                f"{reference!r}: config.json has {key}={config[key]!r} where {name} belongs{versions(config)}"
            )


def versions(config: Mapping[str, Any]) -> str:
    """Say which version wrote a `config.json`, and which this is, to put behind a text; nothing if it was not zoo."""
    wrote = config.get("zoo_version")
    if is_other_version(config):
        return f" (written by zoo {wrote}, this is zoo {__version__})"
    return f" (written by this version, zoo {wrote})" if wrote else ""


def is_other_version(config: Mapping[str, Any]) -> bool:
    """Say whether another version of zoo wrote a `config.json`."""
    return config.get("zoo_version") not in (None, "", __version__)


def fetch(reference: str, filenames: tuple[str, ...]) -> Path | None:
    """Get the first of some files that a repository has, or None.

    Raises:
        WeightsError: If the repository cannot be reached and nothing of it is in the cache, or there is none.
    """
    source, place = split_prefix(reference)
    if source.lower().replace("_", "-") == "hf-hub":
        return _download(place, filenames)
    folder = Path(place).expanduser()
    if not folder.is_dir():
        raise WeightsError(f"{place!r} is no folder")
    return next((folder / name for name in filenames if (folder / name).is_file()), None)


def _download(place: str, filenames: tuple[str, ...]) -> Path | None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    repository, _, revision = place.partition("@")
    for name in filenames:
        try:
            if _cached(repository, revision, (name,)) is None:
                _probe(repository, revision, name)
            return Path(hf_hub_download(repository, name, revision=revision or None))
        except (LocalEntryNotFoundError, ConnectionError, TimeoutError) as error:
            return _without_network(place, filenames, error)
        except EntryNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise WeightsError(f"'hf-hub:{place}' cannot be read: {type(error).__name__}: {error}") from error
    return None


def _probe(repository: str, revision: str, name: str) -> None:
    """Ask the hub once for a file that is not in the cache: `hf_hub_download` asks again for 20 s, with warnings.

    Raises:
        EntryNotFoundError: If the repository has no such file.
        ConnectionError: If the hub cannot be reached.
    """
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

    url = hf_hub_url(repository, name, revision=revision or None)
    try:
        get_hf_file_metadata(url, timeout=constants.HF_HUB_ETAG_TIMEOUT)
    except (EntryNotFoundError, ConnectionError, ValueError):
        raise
    except HfHubHTTPError:
        return  # the hub answered: the download says what is wrong, or tries again
    except Exception as error:  # of httpx or httpx2, by the version of huggingface_hub
        raise ConnectionError(f"{type(error).__name__}: {error}") from error


def _without_network(place: str, filenames: tuple[str, ...], error: Exception) -> Path | None:
    """Take what the cache has, without trying each of the names on the network."""
    from huggingface_hub import constants

    repository, _, revision = place.partition("@")
    if _snapshot(repository, constants.HF_HUB_CACHE):
        return _cached(repository, revision, filenames)
    what = "a file of weights" if filenames == FILES else " or ".join(filenames)
    why = "HF_HUB_OFFLINE is set" if constants.is_offline_mode() else "the hub cannot be reached"
    hint = (
        ", or download a file and give it to zoo.create or zoo train as weights='PATH.safetensors'"
        if filenames == FILES
        else ""
    )
    raise WeightsError(
        f"{what} of 'hf-hub:{place}' is not in the cache {constants.HF_HUB_CACHE} and {why}: fetch it once with a "
        f"network, or set HF_HUB_CACHE to a cache that has it{hint}"
    ) from error


def _cached(repository: str, revision: str, filenames: tuple[str, ...]) -> Path | None:
    from huggingface_hub import constants, try_to_load_from_cache

    found = (
        try_to_load_from_cache(repository, name, cache_dir=constants.HF_HUB_CACHE, revision=revision or None)
        for name in filenames
    )
    return next((Path(path) for path in found if isinstance(path, str)), None)


def _snapshot(repository: str, cache: str) -> bool:
    return (Path(cache) / f"models--{repository.replace('/', '--')}" / "snapshots").is_dir()
