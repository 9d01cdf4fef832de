"""Molecule properties computed by RDKit, as targets, and the scaffolds that the splits are made by."""

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from zoo import DataError, InputError
from zoo.data import Parts, Skipped
from zoo.plugins.graph.io.smiles import of_smiles
from zoo.plugins.graph.requirements import RDKIT
from zoo.plugins.graph.structure.graph_inputs import GraphInputs
from zoo.registry import require

TRAINED, CHOSEN = 0.8, 0.1
"""Shares of training and validation."""


class Molecule(NamedTuple):
    """Hold a molecule.

    Args:
        smiles: as it was given.
        row: where that was.
        graph: atoms and bonds.
        scaffold: rings and what joins them, without what hangs on them (Bemis and Murcko 1996); empty without rings.
    """

    smiles: str
    row: int
    graph: GraphInputs
    scaffold: str


def molecules(texts: Sequence[str]) -> tuple[list[Molecule], list[Skipped]]:
    """Read SMILES; give the molecules, and what is none, named.

    Raises:
        MissingLibraryError: If RDKit is not installed.
    """
    found, skipped = [], []
    for row, text in enumerate(texts):
        try:
            if not text:
                raise InputError("'' has no atoms")
            found.append(Molecule(text, row, of_smiles(text), scaffold(text)))
        except InputError as error:
            skipped.append(Skipped(text, str(error), row))
    return found, skipped


def scaffold(text: str) -> str:
    """Give the frame of a molecule as SMILES."""
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    return MurckoScaffoldSmiles(smiles=text)  # type: ignore[no-untyped-call]


def by_scaffold(found: Sequence[Molecule], seed: int, name: str) -> Parts[Molecule]:
    """Part molecules so that none is tested whose scaffold was trained on: arXiv:1703.00564 sec. 3.2.

    Scaffolds of many molecules are for training, rare ones for validation and test; the seed orders those of equally
    many.

    Raises:
        DataError: If a part would be empty.
    """
    groups: dict[Hashable, list[Molecule]] = {}
    for molecule in found:
        groups.setdefault(molecule.scaffold, []).append(molecule)
    order = list(groups.values())
    random.Random(seed).shuffle(order)
    train: list[Molecule] = []
    validation: list[Molecule] = []
    test: list[Molecule] = []
    for group in sorted(order, key=len, reverse=True):
        if len(train) + len(group) <= TRAINED * len(found):
            train += group
        elif len(train) + len(validation) + len(group) <= (TRAINED + CHOSEN) * len(found):
            validation += group
        else:
            test += group
    if not (train and validation and test):
        raise DataError(
            f"{name}: {len(found)} molecules of {len(groups)} scaffolds cannot be parted into training, validation and "
            "test of scaffolds of their own; split=random parts them by chance"
        )
    return Parts(train, validation, test)


class Property(NamedTuple):
    """Property of molecules to predict.

    Args:
        target: one of `zoo.core.losses.loss.TARGETS`.
        labels: names of classes, labels or numbers.
        of: gives the class, or the labels or numbers, of a molecule of RDKit.
        fitting: keywords of models that suit it.
    """

    target: str
    labels: tuple[str, ...]
    of: Callable[[Any], Any]
    fitting: Mapping[str, Any] = {}


def _logp(molecule: Any) -> list[float]:
    from rdkit.Chem.rdMolDescriptors import CalcCrippenDescriptors

    return [CalcCrippenDescriptors(molecule)[0]]


def _rings(molecule: Any) -> int:
    return min(molecule.GetRingInfo().NumRings(), MANY)


def _aromatic(molecule: Any) -> int:
    return int(any(atom.GetIsAromatic() for atom in molecule.GetAtoms()))


def _groups(molecule: Any) -> list[float]:
    from rdkit.Chem import Fragments

    return [float(getattr(Fragments, f"fr_{code}")(molecule) > 0) for code in GROUPS.values()]


MANY = 5
"""Rings from which on they are not counted."""
GROUPS = {
    "alcohol": "Al_OH", "phenol": "Ar_OH", "acid": "COO", "ester": "ester", "amide": "amide", "ketone": "ketone",
    "aldehyde": "aldehyde", "primary amine": "NH2", "nitrile": "nitrile", "nitro": "nitro", "halogen": "halogen",
    "sulfonamide": "sulfonamd",
}  # fmt: skip
"""Functional groups, and what RDKit calls them."""
PROPERTIES = {
    "logp": Property("numbers", ("logP",), _logp, {"pool": "sum"}),
    "rings": Property("class", (*(f"{count} rings" for count in range(MANY)), f"{MANY} rings or more"), _rings),
    "aromatic": Property("class", ("not aromatic", "aromatic"), _aromatic),
    "groups": Property("labels", tuple(GROUPS), _groups),
}
"""The properties; logP is a sum over atoms (Wildman and Crippen 1999), so nodes are summed."""


def property_of(name: str, smiles: str) -> Any:
    """Give a property of a molecule.

    Raises:
        MissingLibraryError: If RDKit is not installed.
    """
    require("labels of molecules", (RDKIT,))
    from rdkit.Chem import MolFromSmiles

    return PROPERTIES[name].of(MolFromSmiles(smiles))
