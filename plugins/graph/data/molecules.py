"""Well-known molecules for `zoo train`: drugs, solvents, natural products, and families such as the alkanes.

Names and SMILES are in `molecules.tsv`, without what is left or right; labels come from RDKit when they are opened.
"""

from importlib.resources import files

import torch

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, fingerprint
from zoo.plugins.graph.data.corpus import GraphsCorpus, GraphTask
from zoo.plugins.graph.data.examples import Example
from zoo.plugins.graph.data.rdkit_properties import PROPERTIES, Molecule, by_scaffold, molecules, property_of
from zoo.plugins.graph.sources import MOLECULES


def well_known() -> dict[str, str]:
    """Give the SMILES of each molecule by its name."""
    lines = files(__package__).joinpath("molecules.tsv").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines[1:])


def open_molecules(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> GraphsCorpus:
    """Open the molecules, with the property to predict.

    Args:
        argument: `logp`, `rings` (how many), `aromatic` (whether), or `groups` (which functional ones).
        spec: of the model.
        seed: of the split by scaffolds.
        tokenizer: none, there is no text.

    Raises:
        DataError: If there is no such property.
        MissingLibraryError: If RDKit is not installed.
    """
    name = argument or "logp"
    if name not in PROPERTIES:
        raise DataError(f"molecules:{argument}: the property is one of {', '.join(PROPERTIES)}")
    known = well_known()
    found, _ = molecules(list(known.values()))
    parts = by_scaffold(found, seed, "molecules")
    target, labels, _, fitting = PROPERTIES[name]

    def example(molecule: Molecule) -> Example:
        return Example(molecule.graph, torch.tensor(property_of(name, molecule.smiles)))

    examples = {part: [example(each) for each in some] for part, some in parts.by_name().items()}
    described = f"{len(found):,} well-known molecules, to predict: {name}; tested on scaffolds never trained on."
    about = DatasetInfo("molecules", described, fingerprint([name, str(seed), *known.values()]))
    return GraphsCorpus(about, spec, GraphTask("classify", target, labels, **MOLECULES, fitting=fitting), examples)
