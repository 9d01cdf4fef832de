"""Molecules from SMILES."""

import pytest
from torch_geometric.utils import from_smiles

from zoo.errors import InputError, MissingLibraryError
from zoo.plugins.graph.io import smiles
from zoo.plugins.graph.io.smiles import names_of_atoms, of_smiles
from zoo.spec import Requirement


@pytest.mark.parametrize("text", ["CCO", "c1ccncc1", "C/C=C/C", "[Na+].[Cl-]", "CC(=O)Oc1ccccc1C(=O)O"])
def test_molecules_are_those_of_pytorch_geometric(text: str) -> None:
    wanted, given = from_smiles(text), of_smiles(text)
    assert given.x.tolist() == wanted.x.tolist()
    assert given.edge_index.tolist() == wanted.edge_index.tolist()
    assert given.edge_attr is not None
    assert given.edge_attr.tolist() == wanted.edge_attr.tolist()


def test_atoms_are_named_by_element_in_the_order_of_the_nodes() -> None:
    names = names_of_atoms("[Na+].ClC(=O)N")
    assert names == ["Na 0", "Cl 1", "C 2", "O 3", "N 4"]
    assert of_smiles("[Na+].ClC(=O)N").x[:, 0].tolist() == [11, 17, 6, 8, 7]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("C1CC", "'C1CC' is no SMILES"),
        ("hello", "'hello' is no SMILES"),
        ("C(C)(C)(C)(C)C", r"is no molecule: Explicit valence for atom # 0 C"),
        ("c1cccc1", "is no molecule: Can't kekulize mol"),
    ],
)
def test_what_is_no_molecule_is_named_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        of_smiles(text)


def test_without_rdkit_the_way_to_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Requirement(module="no_rdkit_here", distribution="rdkit", install="attention-zoo[molecules]")
    monkeypatch.setattr(smiles, "RDKIT", missing)
    with pytest.raises(MissingLibraryError, match=r'\'reading SMILES\' needs rdkit: pip install "attention-zoo\[mole'):
        of_smiles("CCO")
