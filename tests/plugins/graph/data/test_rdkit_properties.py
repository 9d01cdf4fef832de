import pytest

from zoo.errors import DataError
from zoo.plugins.graph.data.rdkit_properties import GROUPS, by_scaffold, molecules, property_of, scaffold


def test_what_is_no_molecule_is_named_and_left_out() -> None:
    found, skipped = molecules(["CCO", "C1CC", "c1ccccc1"])
    assert [(each.smiles, each.row) for each in found] == [("CCO", 0), ("c1ccccc1", 2)]
    assert [(each.name, each.place) for each in skipped] == [("C1CC", 1)]


def test_a_scaffold_is_rings_and_what_joins_them() -> None:
    assert scaffold("CC(C)Cc1ccc(cc1)C(C)C(=O)O") == "c1ccccc1"
    assert scaffold("CCO") == ""


def test_no_scaffold_is_tested_that_was_trained_on_and_all_molecules_are_there() -> None:
    rings = ["c1ccncc1", "C1CCCCC1", "c1ccsc1", "c1ccoc1", "C1CCCC1", "C1CC1", "C1CCC1", "c1cnccn1", "C1CCNCC1"]
    texts = ["C" * count for count in range(1, 30)] + rings
    found, _ = molecules(texts)
    parts = by_scaffold(found, 0, "few")
    kinds = [{each.scaffold for each in part} for part in parts]
    assert len(set.union(*kinds)) == sum(map(len, kinds))
    assert sorted(each.smiles for part in parts for each in part) == sorted(texts)


def test_molecules_of_one_scaffold_cannot_be_parted() -> None:
    found, _ = molecules(["C", "CC", "CCC"])
    with pytest.raises(DataError, match=r"few: 3 molecules of 1 scaffolds .* split=random"):
        by_scaffold(found, 0, "few")


def test_properties_are_those_of_chemistry() -> None:
    assert property_of("rings", "c1ccc2ccccc2c1") == 2
    assert property_of("aromatic", "C1CCCCC1") == 0
    assert property_of("logp", "CCCCCCCC")[0] > property_of("logp", "CCO")[0]
    groups = property_of("groups", "CC(=O)Oc1ccccc1C(=O)O")
    assert [name for name, present in zip(GROUPS, groups, strict=True) if present] == ["acid", "ester"]
