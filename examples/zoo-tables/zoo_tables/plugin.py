"""The names; nothing heavy is imported."""

from zoo import ModelSpec, Requirement, SourceSpec, StudySpec, hookimpl

ZOO_PLUGIN_API = 1
TREES = (Requirement(module="sklearn", distribution="scikit-learn", install="zoo-tables[trees]"),)


@hookimpl
def zoo_models() -> list[ModelSpec]:
    """Name the model; data tell how many columns of which kind there are."""
    return [
        ModelSpec(
            name="rows-tiny",
            entry="zoo_tables.models:RowTransformer",
            example="zoo_tables.models:example",
            preprocess="zoo_tables.data:preprocess",
            modality="rows",
            config={"numbers": 4, "categories": [5, 3], "dim": 32, "depth": 2, "num_heads": 4, "num_classes": 2},
            parameters=17_954,
            classifier=("head.linear.",),
            tasks=("classify", "features"),
            source="arXiv:2106.11959",
            description="Cells of a row as tokens, read by a transformer.",
        )
    ]


@hookimpl
def zoo_sources() -> list[SourceSpec]:
    """Name the user's files, and rows drawn by a rule."""
    return [
        SourceSpec(
            name="rows",
            modality="rows",
            corpus="zoo_tables.data:open_file",
            takes="FILE[?target=COLUMN]",
            reads=(".csv",),
            description="a CSV file with a header; its last column is the label, if ?target= names no other",
        ),
        SourceSpec(
            name="rows-sample",
            modality="rows",
            corpus="zoo_tables.data:open_sample",
            takes="[COUNT]",
            drawn=True,
            description="rows drawn by a rule of a number and a category",
        ),
    ]


@hookimpl
def zoo_studies() -> list[StudySpec]:
    """Name the comparison with gradient boosting."""
    return [
        StudySpec(
            name="rows-trees",
            entry="zoo_tables.study:STUDY",
            description="Accuracy of attention over cells and of gradient boosting, by training rows.",
            requires=TREES,
        )
    ]
