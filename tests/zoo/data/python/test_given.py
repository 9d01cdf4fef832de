from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import zoo
from zoo import ConfigError, DataError
from zoo.data.python.collated import collated_corpus
from zoo.data.python.given import GivenData, is_given, open_given
from zoo.data.python.pairs import Pairs
from zoo.registry.lookup import Registry, using
from zoo.spec import ModelSpec, SourceSpec

SPEC = ModelSpec(name="net", entry="a:b", example="a:b", modality="points")
SEEN: list[Any] = []


@pytest.fixture(autouse=True)
def _offline(offline: None) -> None:
    """Keep the cache apart."""
    SEEN.clear()


def open_seen(data: Any, spec: ModelSpec, seed: int, tokenizer: str) -> Any:
    """Be what a plugin makes a corpus with."""
    SEEN.append(data)
    return collated_corpus(Pairs("any", {"train": [(torch.zeros(1), place % 2) for place in range(20)]}), spec, seed)


class Plugin:
    """Read tables and pairs."""

    @zoo.hookimpl
    def zoo_sources(self) -> list[SourceSpec]:
        how = f"{__name__}:open_seen"
        return [SourceSpec(name="points", modality="points", corpus="a:b", tables=how, pairs=how)]


def seen(train: Any, columns: Any = None, **parts: Any) -> Any:
    """Give what a plugin gets."""
    with using(Registry(plugins=[Plugin()], autoload=False)), pytest.MonkeyPatch.context() as patch:
        patch.setattr("zoo.data.python.given.entry_loading.load", lambda owner, entry: open_seen)
        open_given(GivenData({"train": train} | parts, columns or {}), SPEC)
    return SEEN[-1]


class Squares(Dataset[Any]):
    """Be a data set without an end of its own, as those of PyTorch are."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, place: int) -> Any:
        return torch.tensor([place**2]), place


def test_lists_generators_datasets_and_arrays_are_pairs() -> None:
    pairs = [(0, "a"), (1, "b")]
    forms = [pairs, tuple(pairs), iter(pairs), ([0, 1], ["a", "b"]), (torch.arange(2), ["a", "b"])]
    for form in forms:
        found = seen(form)
        assert isinstance(found, Pairs)
        assert [(int(given), target) for given, target, _ in found.pairs("train")] == pairs
    assert [target for _, target, _ in seen(Squares()).pairs("train")] == [0, 1, 2]


class NamedSquares(Squares):
    """Be a data set that names what it holds, as those of files do."""

    def keys(self) -> list[str]:
        return ["square", "root"]


def test_a_data_set_with_keys_is_its_examples() -> None:
    found = seen(NamedSquares(), validation=NamedSquares())
    assert [target for part in ("train", "validation") for _, target, _ in found.pairs(part)] == [0, 1, 2] * 2


def test_data_sets_of_hugging_face_and_frames_are_tables() -> None:
    import datasets
    import pandas

    rows = datasets.Dataset.from_dict({"x": [1, 2, 3], "y": ["a", "b", "a"]})
    frame = pandas.DataFrame({"x": [1, 2, 3], "y": ["a", "b", "a"]})
    for given in (rows, frame):
        table = seen(given, {"label": "y"}, validation=given)
        assert list(table.values("y", "validation")) == ["a", "b", "a"]
        assert table.options == {"label": "y"}
    chosen = seen(rows.select([2, 0]))
    assert list(chosen.values("x")) == [3, 1]


def test_a_mapping_of_parts_is_all_data() -> None:
    import datasets

    rows = datasets.Dataset.from_dict({"x": [1, 2]})
    assert [*seen(datasets.DatasetDict(train=rows, valid=rows)).sections] == ["train", "validation"]
    with pytest.raises(ConfigError, match=r"train is a dict with keys image, label: a mapping has parts train"):
        seen({"image": [1], "label": [2]})


def test_the_same_rows_have_the_same_fingerprint_and_others_another() -> None:
    import datasets

    one, same, other = ([1, 2], [1, 2], [1, 3])
    prints = [seen(datasets.Dataset.from_dict({"x": values})).fingerprint for values in (one, same, other)]
    assert prints[0] == prints[1] != prints[2]


@pytest.mark.parametrize(
    ("parts", "kind", "text"),
    [
        ({"train": []}, DataError, "train has no examples"),
        ({"train": [(1, 2)], "validation": []}, DataError, "validation has no examples: leave it out, and validation"),
        ({"train": 5}, ConfigError, r"train=5 is no data: give a list of pairs"),
        ({"train": [(1, 2)], "test": "a.csv"}, ConfigError, r"test='a.csv' is no data"),
        (
            {"train": [(1, 2)], "validation": DataLoader(Squares())},
            ConfigError,
            r"validation is a DataLoader; .* \.dataset",
        ),
        ({"train": [(1, 2)], "test": (torch.zeros(0), [])}, DataError, "test has no examples: leave it out"),
        ({"train": (torch.zeros(3), [1, 2])}, DataError, "train: 3 inputs and 2 targets"),
    ],
)
def test_data_that_are_none(parts: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        seen(**parts)


def test_a_table_and_pairs_do_not_go_together() -> None:
    import datasets

    with pytest.raises(ConfigError, match="give all parts as tables with named columns, or all as pairs"):
        seen(datasets.Dataset.from_dict({"x": [1]}), validation=[(1, 2)])


def test_names_paths_and_corpora_are_not_given_data() -> None:
    assert not is_given("digits")
    assert is_given([(1, 2)])
