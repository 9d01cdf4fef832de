"""The data sources and studies of this plugin, by name; nothing heavy is imported."""

from typing import Any

from zoo import Requirement, SourceSpec, StudySpec
from zoo.plugins.graph.requirements import NETWORKX, PYG, RDKIT, SACREBLEU, TOKENIZERS

# categories of what torch_geometric.utils.from_smiles says of atoms and bonds
MOLECULES: dict[str, Any] = {"node_features": [119, 9, 11, 12, 9, 5, 8, 2, 2], "edge_features": [22, 6, 2]}


def _source(name: str, entry: str, takes: str, description: str, *more: Requirement, **reading: Any) -> SourceSpec:
    return SourceSpec(
        name=name,
        modality="graph",
        corpus=f"zoo.plugins.graph.{entry}",
        takes=takes,
        description=description,
        requires=(PYG, *more),
        **reading,
    )


SOURCES = (
    _source(
        "karate",
        "data.karate:open_karate",
        "[communities|factions]",
        "Zachary's karate club: the community of each member from those of four, or the faction from the two leaders'",
        NETWORKX,
    ),
    _source(
        "drawn-graphs",
        "data.synthetic_graphs:open_synthetic",
        "triangle|connected|components[?count=N]",
        "graphs drawn at random whose nodes have as many edges whatever the answer: trees, rings, blocks and others",
        NETWORKX,
        drawn=True,
    ),
    _source(
        "described-graphs",
        "descriptions.open_descriptions:open_described_graphs",
        "[FILE]",
        "graphs with a text each, for joined:graph-tiny+…: drawn shapes described by a grammar; or yours, a .jsonl of "
        "edges, x and text, or a .csv of smiles and text",
        TOKENIZERS,
        SACREBLEU,
        drawn=True,
        tasks=("generate",),
        pairs="zoo.plugins.graph.descriptions.described_pairs:open_pairs",
    ),
    _source(
        "molecules",
        "data.molecules:open_molecules",
        "[logp|rings|aromatic|groups]",
        "well-known molecules, labelled by RDKit; tested on scaffolds that were never trained on",
        RDKIT,
    ),
    _source(
        "graphs",
        "data.user_files:open_graphs",
        "FILE",
        "your graphs: a .jsonl of edges, x and label, labels or target; or a .csv of smiles and what is predicted",
        reads=(".tsv", ".csv", ".jsonl", ".json"),
        folder=True,
        tables="zoo.plugins.graph.data.molecule_table:open_table",
        pairs="zoo.plugins.graph.data.graph_pairs:open_pairs",
    ),
    _source(
        "planetoid",
        "data.published_datasets:open_planetoid",
        "cora|citeseer|pubmed:DIR",
        "graphs of citations with their published split, from the files (pickles) in DIR",
    ),
    _source("ppi", "data.published_datasets:open_ppi", "DIR", "graphs of proteins, from the files in DIR/raw"),
    _source(
        "zinc",
        "data.published_datasets:open_zinc",
        "DIR",
        "molecules and their solubility, from the files (pickles) in DIR/raw",
    ),
)

STUDIES = tuple(
    StudySpec(
        name=name,
        entry=f"zoo.plugins.graph.studies.published_results:{name.replace('-', '_')}",
        description=f"Reproduce {title} by its published protocol, from your files: mean over {seeds} seeds.",
        requires=(PYG,),
    )
    for name, title, seeds in (
        ("gat-cora", "GAT on Cora", 100),
        ("gat-citeseer", "GAT on Citeseer", 100),
        ("gat-pubmed", "GAT on Pubmed", 100),
        ("gat-ppi", "GAT on PPI", 10),
        ("graph-zinc", "a graph Transformer on ZINC", 4),
    )
)
