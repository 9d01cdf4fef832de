"""Specs that plugins register: frozen records of strings and numbers, nothing imported.

A reference to code is a string "package.module:attribute" (an *entry*), imported when it is needed.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

Task = Literal["classify", "multi-label", "tag", "generate", "masked-token", "link", "features"]
Kind = Literal["attention", "convolution", "hybrid", "recurrent"]
Reads = Literal["", "encoder", "source", "prompt", "sound"]
"""What a raw input is to a model: a text that an encoder reads whole, the source text of an encoder-decoder, the
beginning of the text that a decoder continues, or a sound; empty for anything else."""


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """Name an optional library that a model or source needs."""

    module: str
    """Import name: `torch_geometric`."""
    distribution: str
    """Name on the package index: `torch-geometric`."""
    install: str
    """What to hand to pip: `attention-zoo[graph]`."""


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """Describe one named model; `zoo.create` calls `entry(**config)`.

    `entry` also takes, where the caller gives them, `task`, `num_classes`, `attention` (a callable
    `(dim, num_heads) -> nn.Module`) and `position` (a string); a keyword its signature lacks is refused.
    """

    name: str
    """`family-size`, kebab-case, none of `. / \\ : @`."""
    entry: str
    """Class or function that builds the module."""
    modality: str
    config: Mapping[str, Any] = field(default_factory=dict)
    """Keywords for `entry`: JSON values only."""
    example: str
    """`(config, batch_size, seed) -> tuple of model inputs`."""
    preprocess: str | None = None
    """`(config, train) -> callable` from raw input to model input; `config["tag"]` holds the weights' tag and
    `config["repository"]` where they are, if they were named, else `config["default"]` where the default ones are."""
    reads: Reads = ""
    """What the texts or sounds of a corpus are to the model; corpora lay out their examples by it."""
    postprocess: str | None = None
    """`(config) -> callable` from a model's answer to what users read, labels or text; config as for `preprocess`."""
    convert: str | None = None
    """`(state_dict, model) -> state_dict` in our layout; returns what it is given when the layout is ours."""
    model_types: tuple[str, ...] = ()
    """`model_type` in the `config.json` of repositories of Hugging Face transformers that are such a model, as
    `configure` reads them: `zoo.create("local-dir:PATH")` makes it."""
    configure: str | None = None
    """`(state_dict, repository, spec, given keywords) -> keywords` that a checkpoint of another library tells, such as
    its sizes; what the caller gave goes before them. The state dict is empty where a repository is described only, and
    the repository None where there is none."""
    export: str | None = None
    """`(model) -> (entries of config.json, state_dict)` in the layout of a library that is to read saved models too, or
    None where it has no such model; `convert` reads it back."""
    classifier: tuple[str, ...] = ()
    """How the keys of the classifier begin in the state dict, such as `head.linear.`, whatever the task: what
    `num_classes=0` leaves out. Without it, they are told by their shapes."""
    peer: str | None = None
    """`(model) -> the same model, with the same weights, in its peer library`, for `zoo bench speed --peer`."""
    task: Task = "classify"
    tasks: tuple[Task, ...] = ("classify", "tag", "features")
    kind: Kind = "attention"
    """What mixes the vectors: picks the training recipe and the label in reports."""
    parameters: int | None = None
    """Exact number of parameters of `entry(**config)`."""
    weights: Mapping[str, str] = field(default_factory=dict)
    """Tag to `hf-hub:org/name`; the first is the default of `pretrained=True`."""
    requires: tuple[Requirement, ...] = ()
    claims: tuple[str, ...] = ()
    """Properties the conformance kit checks: `causal`, `permutation-equivariant`."""
    source: str = ""
    """Paper and table, or library."""
    description: str = ""
    plugin: str = ""
    """Filled in by the registry."""

    def __post_init__(self) -> None:
        for name in ("config", "weights"):
            object.__setattr__(self, name, dict(getattr(self, name)))

    def __hash__(self) -> int:
        return hash((self.plugin, self.name, self.entry))

    @property
    def full_name(self) -> str:
        """Return `plugin:name`, which is unambiguous; a plugin may have put itself in front of a name it resolves."""
        prefix = f"{self.plugin}:"
        return self.name if self.name.startswith(prefix) else prefix + self.name

    def to_dict(self) -> dict[str, Any]:
        """Give the record as JSON values."""
        return asdict(self)

    def with_config(self, **overrides: Any) -> "ModelSpec":
        """Give the record with some of its config replaced."""
        return replace(self, config={**self.config, **overrides})


@dataclass(frozen=True, kw_only=True)
class AttentionSpec:
    """Name a pattern or mechanism for `attention="name:arguments"`.

    `entry(*arguments)` gets the texts behind the colon, split at commas, and returns a `zoo.core` Pattern or a
    callable `(dim, num_heads) -> nn.Module`.
    """

    name: str
    entry: str
    takes: str = ""
    """What stands behind the colon, for help texts: `LEFT[,RIGHT]`."""
    description: str = ""
    requires: tuple[Requirement, ...] = ()
    plugin: str = ""


@dataclass(frozen=True, kw_only=True)
class SourceSpec:
    """Name a data source for `--data name:argument` of trainings and studies."""

    name: str
    modality: str
    """Empty for a source of tables with named columns, which every modality reads that has `tables`."""
    corpus: str = ""
    """`(argument, spec, seed, tokenizer) -> zoo.data.corpus.Corpus` for a model of that spec."""
    entry: str = ""
    """`(argument, seed) -> source` in place of `corpus`: a source, of which an `adapter` of its modality makes a
    corpus."""
    adapter: str = ""
    """`(source, spec, seed, tokenizer) -> zoo.data.corpus.Corpus`: makes a corpus of what the `entry` of another source
    of the modality opens."""
    tables: str = ""
    """`(zoo.data.Table, spec, seed, tokenizer) -> zoo.data.corpus.Corpus`: makes a corpus of a table, so that `hf:`,
    `parquet:`, `csv:`, `jsonl:` and `webdataset:` are sources of the modality too."""
    pairs: str = ""
    """`(zoo.data.Pairs, spec, seed, tokenizer) -> zoo.data.corpus.Corpus`: makes a corpus of pairs that a program
    gives, so that `zoo.train(name, [(input, target), …])` works; without it inputs are tensors as the model reads
    them."""
    takes: str = ""
    """What stands behind the colon, for help texts: `FILE`, `DIR`, `[MIN-MAX]`."""
    reads: tuple[str, ...] = ()
    """Endings of the files that it reads where `--data` is a path alone, in lower case: `(".conll", ".txt.gz")`."""
    folder: bool = False
    """Whether it reads a folder where `--data` is a path alone, or `folder:PATH`."""
    pair: bool = False
    """Whether it reads two files where `--data` is two paths with a comma between."""
    tasks: tuple[Task, ...] = ()
    """Of the sources that read the same path, those are taken that name the model's task here."""
    drawn: bool = False
    """Whether the seed draws other examples, not only another split: studies then draw from a seed of their own, so
    that their test examples are in no training of development."""
    description: str = ""
    requires: tuple[Requirement, ...] = ()
    plugin: str = ""


@dataclass(frozen=True, kw_only=True)
class StudySpec:
    """Name a study for `zoo bench NAME`; `entry` is a `zoo.bench.GridStudy`, or a function with typer annotations."""

    name: str
    entry: str
    description: str = ""
    requires: tuple[Requirement, ...] = ()
    plugin: str = ""


@dataclass(frozen=True, kw_only=True)
class ComparisonSpec:
    """Name what `zoo bench data-size --modality NAME` compares, and on which data, where the user names neither.

    Other models and sources of the modality can be named in their place.
    """

    name: str
    """The modality, as its models and sources name it."""
    data: str
    """Source, as for `--data`; one that needs no download."""
    models: tuple[str, ...]
    """Of about the same size: the first convolution and the first self-attention are what the study asks about."""
    aliases: tuple[str, ...] = ()
    """Other names of the modality, such as what users call its inputs."""
    quick_sizes: tuple[int, ...] = ()
    """Numbers of training examples with `--quick`, where the data are these; empty for the study's own choice."""
    quick_steps: int | None = None
    """Optimiser steps at most with `--quick`, where the data are these; None for the study's own choice."""
    plugin: str = ""


@dataclass(frozen=True, kw_only=True)
class SuiteSpec:
    """Name a suite of benchmarks against peer libraries for `zoo bench speed --suite NAME`.

    Each module of `package` lists its `CASES: Sequence[zoo.bench.Case]`; they are imported when the suite runs.
    """

    name: str
    package: str
    """Import name of a package: `zoo_timeseries.bench`."""
    title: str
    """Heading of the table: `Speech models against their peers`."""
    plugin: str = ""


@dataclass(frozen=True, kw_only=True)
class PluginInfo:
    """Status of a plugin: loaded, disabled or failed, with the reason."""

    name: str
    distribution: str
    version: str
    status: Literal["ok", "failed", "disabled", "incompatible"]
    models: int = 0
    cause: str = ""
    traceback: str = ""
