import pytest
from rdkit import Chem
from rdkit.Chem.rdMolDescriptors import CalcMolFormula

import zoo
from zoo.errors import DataError
from zoo.plugins.graph.data import molecules
from zoo.plugins.graph.data.molecules import open_molecules, well_known

FORMULAS = {
    "aspirin": "C9H8O4", "caffeine": "C8H10N4O2", "morphine": "C17H19NO3", "cholesterol": "C27H46O",
    "penicillin G": "C16H18N2O4S", "atorvastatin": "C33H35FN2O5", "erythromycin": "C37H67NO13", "quinine": "C20H24N2O2",
    "glucose": "C6H12O6", "doxorubicin": "C27H29NO11", "strychnine": "C21H22N2O2", "tetracycline": "C22H24N2O8",
    "hexadecane": "C16H34", "icosanoic acid": "C20H40O2", "4-nitroaniline": "C6H6N2O2", "imatinib": "C29H31N7O",
}  # fmt: skip
SPEC = zoo.info("graph-tiny")


def test_every_molecule_is_one_each_is_another_and_written_in_the_one_way() -> None:
    known = well_known()
    assert len(known) >= 1500
    assert len(set(known.values())) == len(known)
    assert all(Chem.MolToSmiles(Chem.MolFromSmiles(smiles)) == smiles for smiles in known.values())


def test_formulas_are_those_of_the_textbooks() -> None:
    known = well_known()
    assert {name: CalcMolFormula(Chem.MolFromSmiles(known[name])) for name in FORMULAS} == FORMULAS


@pytest.fixture
def fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    known = dict(list(well_known().items())[::12])
    monkeypatch.setattr(molecules, "well_known", lambda: known)


@pytest.mark.usefixtures("fewer")
@pytest.mark.parametrize(("name", "kind"), [("", "numbers"), ("rings", "class"), ("groups", "labels")])
def test_what_is_asked_decides_the_target_and_each_molecule_is_in_one_part(name: str, kind: str) -> None:
    corpus = open_molecules(name, SPEC, 0, "")
    assert corpus.graph_task.target == kind
    assert sum(corpus.sizes.values()) == len(molecules.well_known())
    model = zoo.create("graph-tiny", depth=1, **corpus.overrides())
    assert corpus.score(model, "test", 8)[corpus.metric] == pytest.approx(
        corpus.score(model, "test", 64)[corpus.metric]
    )


def test_another_property_is_refused() -> None:
    with pytest.raises(DataError, match="molecules:colour: the property is one of logp, rings, aromatic, groups"):
        open_molecules("colour", SPEC, 0, "")


@pytest.mark.slow
def test_logp_is_learned_for_scaffolds_never_trained_on() -> None:
    trained = zoo.train("graph-tiny", "molecules:logp", steps=200, batch_size=64)
    assert trained.scores["r2"] >= 0.8
