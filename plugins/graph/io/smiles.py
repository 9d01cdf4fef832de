"""SMILES parsing: from molecules to graphs of atoms and bonds, by RDKit and PyTorch Geometric."""

from typing import Any

from zoo import InputError
from zoo.plugins.graph.requirements import RDKIT, import_pyg
from zoo.plugins.graph.structure.graph_inputs import GraphInputs, of_data
from zoo.registry import require


def of_smiles(text: str) -> GraphInputs:
    """Give the graph of a molecule, with the categories of `torch_geometric.utils.from_smiles`; a bond is two edges.

    Hydrogen is counted at its atom, and is no node.

    Args:
        text: SMILES.

    Raises:
        InputError: If this is no SMILES, breaks the rules of valence, or holds what there is no category for.
        MissingLibraryError: If RDKit is not installed.
    """
    return of_molecule(parsed(text), text)


def names_of_atoms(text: str) -> list[str]:
    """Name the atoms of a molecule, in the order of its nodes, by element and place: `C 0`, `N 3`.

    Args:
        text: SMILES.

    Raises:
        InputError: If this is no SMILES, or breaks the rules of valence.
        MissingLibraryError: If RDKit is not installed.
    """
    return [f"{atom.GetSymbol()} {place}" for place, atom in enumerate(parsed(text).GetAtoms())]


def parsed(text: str) -> Any:
    """Give the molecule of RDKit.

    Raises:
        InputError: If this is no SMILES, or breaks the rules of valence.
        MissingLibraryError: If RDKit is not installed.
    """
    require("reading SMILES", (RDKIT,))
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(text)
        if molecule is not None:
            return molecule
        raw = Chem.MolFromSmiles(text, sanitize=False)
        if raw is None:
            raise InputError(f"{text!r} is no SMILES")
        problems = Chem.DetectChemistryProblems(raw)
    raise InputError(f"{text!r} is no molecule{f': {problems[0].Message()}' if problems else ''}")


def of_molecule(molecule: Any, text: str) -> GraphInputs:
    """Give the graph of a molecule of RDKit.

    Args:
        molecule: of RDKit.
        text: its SMILES, for the error.

    Raises:
        InputError: If it holds what there is no category for.
    """
    import_pyg()
    from torch_geometric.utils import from_rdmol

    try:
        return of_data(from_rdmol(molecule))
    except ValueError as error:
        raise InputError(f"{text!r} has an atom or a bond that there is no category for: {error}") from error
