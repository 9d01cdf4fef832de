"""The built-in plugin without a modality: attention patterns, studies, and the benchmark suite of the engine."""

from zoo.hookspecs import hookimpl
from zoo.spec import AttentionSpec, Requirement, SourceSpec, StudySpec, SuiteSpec

BENCH = tuple(
    Requirement(module=module, distribution=distribution, install="attention-zoo[bench]")
    for module, distribution in (
        ("sklearn", "scikit-learn"),
        ("matplotlib", "matplotlib"),
        ("lightning_fabric", "lightning-fabric"),
        ("timm", "timm"),
    )
)

SERVE = tuple(
    Requirement(module=module, distribution=distribution, install="attention-zoo[serve]")
    for module, distribution in (
        ("fastapi", "fastapi"),
        ("uvicorn", "uvicorn"),
        ("python_multipart", "python-multipart"),
        ("prometheus_client", "prometheus-client"),
    )
)

PATTERNS = (
    ("full", "full", "", "Everyone reads everyone."),
    ("causal", "causal", "", "Each reads itself and the past."),
    ("window", "window", "LEFT[,RIGHT[,DILATION]]", "Each reads so many steps back and ahead."),
    ("chunk", "chunk", "SIZE[,LEFT_CHUNKS]", "Each reads its own chunk and so many before it."),
    ("neighbourhood", "neighbourhood", "HEIGHT,WIDTH,RADIUS[,PREFIX]", "Points of a grid read the points around them."),
    ("globals", "globals_", "POSITION[,POSITION...]", "These read all and are read by all; joined to others with |."),
    ("fixed", "fixed", "SIZE[,SUMMARY]", "One's own stretch up to oneself, and the end of each before it."),
    ("strided", "strided", "STRIDE", "The last positions, and each so-manieth before them."),
    ("blocks", "blocks", "SIZE,ROW/ROW/...", "Blocks read blocks: a row such as 0+2 for each block."),
    ("bigbird", "bigbird", "SIZE,LENGTH[,WINDOW[,RANDOMS[,SEED]]]", "Neighbouring, random and global blocks."),
)
"""Name, function in `zoo.core.patterns.parse`, what stands behind the colon, what it means."""

RECURRENCES = (
    ("retention", "retention:retention", "Sums that fade at a fixed rate for each head, arXiv:2307.08621; causal."),
    ("gla", "gated_linear:gla", "Sums that fade in each channel as their tokens say, arXiv:2312.06635; causal."),
    ("ssd", "state_space:ssd", "Sums that fade in each head as their tokens say (Mamba-2), arXiv:2405.21060; causal."),
    ("delta", "delta:delta", "A token overwrites the value stored under its key, arXiv:2406.06484; causal."),
    ("gated-delta", "delta:gated_delta", "The delta rule on a state that fades, arXiv:2412.06464; causal."),
)
"""Name, function in `zoo.core.mechanisms.recurrence`, what it means."""

EFFICIENT = (
    ("performer", "performer:performer", "M", "Softmax attention estimated by M random features, arXiv:2009.14794."),
    (
        "linformer",
        "linformer:linformer",
        "K[,LENGTH]",
        "Keys and values are projected to K places; rows of at most LENGTH (512), arXiv:2006.04768.",
    ),
    ("nystrom", "nystrom:nystrom", "M", "Softmax attention through M landmarks, arXiv:2102.03902."),
    (
        "synthesizer",
        "synthesizer:synthesizer",
        "dense|random|factorised[,LENGTH]",
        "Weights without queries and keys; rows of at most LENGTH (512), arXiv:2005.00743.",
    ),
    (
        "doubly-stochastic",
        "doubly_stochastic:doubly_stochastic",
        "",
        "Rows and columns of the weights sum to 1 after 5 iterations (or :ITERATIONS), arXiv:2110.11773.",
    ),
    (
        "sinkhorn",
        "sinkhorn:sinkhorn",
        "BLOCK[,LENGTH]",
        "Blocks read themselves and one that is sorted beside them; at most LENGTH (512), arXiv:2002.11296.",
    ),
    (
        "reformer",
        "reformer:reformer",
        "BUCKETS[,ROUNDS[,CHUNK]]",
        "Vectors read those that hash to the same bucket, with shared queries and keys, arXiv:2001.04451.",
    ),
    (
        "longformer",
        "longformer:longformer",
        "W[,PLACE...]",
        "A window, and global places (0) with projections of their own, arXiv:2004.05150.",
    ),
)
"""Name, function in `zoo.core.mechanisms.efficient`, what stands behind the colon, what it means."""

DATASETS = Requirement(module="datasets", distribution="datasets", install="attention-zoo[data]")
TABLES = (
    ("hf", "hub:open_hf", "NAME[:CONFIG]", (), "a data set of the Hugging Face hub, or a folder of one"),
    ("parquet", "open_files:open_parquet", "GLOB", (".parquet",), "Parquet files"),
    (
        "csv",
        "open_files:open_csv",
        "GLOB",
        (".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".tsv.zst"),
        "tables with a header, .csv or .tsv",
    ),
    (
        "jsonl",
        "open_files:open_jsonl",
        "GLOB",
        (".jsonl", ".jsonl.gz", ".jsonl.zst"),
        "a JSON object in each line",
    ),
    (
        "webdataset",
        "webdataset:open_webdataset",
        "GLOB",
        (".tar",),
        "tar shards, where files of one name are an example",
    ),
)
"""Name, function in `zoo.data.tables`, what stands behind the colon, endings, what it is."""


@hookimpl
def zoo_attentions() -> list[AttentionSpec]:
    """Name the patterns, the efficient attentions, and the mechanisms that take no arguments."""
    return [
        *(
            AttentionSpec(name=name, entry=f"zoo.core.patterns.parse:{function}", takes=takes, description=description)
            for name, function, takes, description in PATTERNS
        ),
        *(
            AttentionSpec(
                name=name, entry=f"zoo.core.mechanisms.efficient.{entry}", takes=takes, description=description
            )
            for name, entry, takes, description in EFFICIENT
        ),
        AttentionSpec(
            name="qk-norm",
            entry="zoo.core.layers.qk_norm:normed",
            description="Queries and keys are normed, head by head.",
        ),
        AttentionSpec(
            name="linear",
            entry="zoo.core.mechanisms.linear_attention:linear_attention",
            description="A kernel in place of the softmax: time linear in the length, a causal state of fixed size.",
        ),
        *(
            AttentionSpec(name=name, entry=f"zoo.core.mechanisms.recurrence.{entry}", description=description)
            for name, entry, description in RECURRENCES
        ),
        AttentionSpec(
            name="general",
            entry="zoo.core.mechanisms.learned_scores:general",
            description="The score is a learned bilinear form of query and key, arXiv:1508.04025.",
        ),
        AttentionSpec(
            name="additive",
            entry="zoo.core.mechanisms.learned_scores:additive",
            description="The score is a small network of query and key, arXiv:1409.0473.",
        ),
        AttentionSpec(
            name="hard",
            entry="zoo.core.mechanisms.hard_attention:hard",
            description="Each query reads one key; zoo train draws it and learns by REINFORCE, arXiv:1502.03044.",
        ),
    ]


@hookimpl
def zoo_sources() -> list[SourceSpec]:
    """Name the sources of tables, which all modalities read, and their mixtures."""
    return [
        SourceSpec(
            name=name,
            modality="",
            entry=f"zoo.data.tables.sources.{entry}",
            takes=takes,
            reads=reads,
            description=f"{description}; ?ROLE=COLUMN names a column",
            requires=(DATASETS,),
        )
        for name, entry, takes, reads, description in TABLES
    ] + [
        SourceSpec(
            name="mix",
            modality="",
            corpus="zoo.data.mixture:open_mixture",
            takes="WEIGHT=SOURCE,WEIGHT=SOURCE",
            description="several sources mixed by weight, evaluated on the first",
        )
    ]


@hookimpl
def zoo_studies() -> list[StudySpec]:
    """Name the studies of `zoo bench`."""
    return [
        StudySpec(
            name="data-size",
            entry="zoo.bench.learning_curve.command:command",
            description="Learning curves: accuracy of CNNs and self-attention by number of training examples.",
            requires=BENCH,
        ),
        StudySpec(
            name="modalities",
            entry="zoo.bench.learning_curve.modalities:command",
            description="Learning curves of every modality on data that need no download, on one page.",
            requires=BENCH,
        ),
        StudySpec(
            name="backtest",
            entry="zoo.bench.backtest.command:command",
            description="Back-tests of scores, labels and crossings that stored learning curves would have predicted.",
            requires=BENCH,
        ),
        StudySpec(
            name="length",
            entry="zoo.bench.length.study:STUDY",
            description="Accuracy over the distance that is remembered, time and memory over length, by family.",
            requires=BENCH,
        ),
        StudySpec(
            name="attention",
            entry="zoo.bench.attention.study:STUDY",
            description="Which efficient attention, for what: accuracy at equal steps and seconds, and costs.",
            requires=BENCH,
        ),
        StudySpec(
            name="positions",
            entry="zoo.bench.positions.study:STUDY",
            description="Position vectors that were trained, as pictures, and how far each encoding reaches.",
            requires=BENCH,
        ),
        StudySpec(
            name="fine-tuning",
            entry="zoo.bench.fine_tuning.study:STUDY",
            description="What pretraining is worth for few examples: accuracy, seconds, parameters of each way.",
            requires=BENCH,
        ),
        StudySpec(
            name="approximation",
            entry="zoo.bench.approximation.study:STUDY",
            description="How near efficient attentions come to softmax, by what they are given and how scores spread.",
            requires=BENCH,
        ),
        StudySpec(
            name="speed",
            entry="zoo.bench.speed.command:command",
            description="Speed of models on this machine, also against the same models in other libraries.",
            requires=BENCH,
        ),
        StudySpec(
            name="serve",
            entry="zoo.bench.serve.command:command",
            description="Requests in a second and latency of zoo serve, against the same model called in a loop.",
            requires=BENCH + SERVE,
        ),
        StudySpec(
            name="int8",
            entry="zoo.cli.answering.int8:command",
            description="What int8 weights change in a model's answers: perplexity, best class, error of a score.",
        ),
    ]


@hookimpl
def zoo_suites() -> tuple[SuiteSpec, ...]:
    """Name the benchmarks of the engine, of exported models, of GPUs, of matrix products and of reading data."""
    return (
        SuiteSpec(name="engine", package="zoo.bench.engine", title="The engine against its peers"),
        SuiteSpec(name="recurrences", package="zoo.bench.recurrences", title="Linear recurrences against SDPA"),
        SuiteSpec(name="export", package="zoo.bench.export", title="Exported models against eager PyTorch"),
        SuiteSpec(name="gpu", package="zoo.bench.gpu", title="What a GPU is for, against peers"),
        SuiteSpec(name="products", package="zoo.bench.products", title="Ways to multiply, against PyTorch's `linear`"),
        SuiteSpec(name="data", package="zoo.bench.data", title="Reading data against the libraries that read them"),
    )
