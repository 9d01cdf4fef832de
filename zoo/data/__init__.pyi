"""Public names for data."""

from zoo.atomic_write import atomic_path as atomic_path, write_text as write_text
from zoo.data.batches.batched_corpus import (
    BatchedCorpus as BatchedCorpus,
    DatasetInfo as DatasetInfo,
    evaluation_mode as evaluation_mode,
    to_device as to_device,
)
from zoo.data.cache import (
    cache_folder as cache_folder,
    cached_file as cached_file,
    cached_folder as cached_folder,
)
from zoo.data.corpus import Batch as Batch, Corpus as Corpus, open_corpus as open_corpus
from zoo.data.corpus_options import (
    AugmentsByName as AugmentsByName,
    CachesDecoded as CachesDecoded,
    augmentation_names as augmentation_names,
)
from zoo.data.metrics.label_metrics import (
    SCORES as SCORES,
    SKLEARN as SKLEARN,
    label_scores as label_scores,
    multi_label_scores as multi_label_scores,
)
from zoo.data.labelling.label_sets import (
    label_columns as label_columns,
    label_flag as label_flag,
    separator_of as separator_of,
    split_labels as split_labels,
)
from zoo.data.labelling.labels import (
    labels_of as labels_of,
    names_for as names_for,
    names_of as names_of,
    ranked as ranked,
)
from zoo.data.labelling.known_classes import (
    KnowsClasses as KnowsClasses,
    first_of_each as first_of_each,
    rank_in_class as rank_in_class,
)
from zoo.data.items import Columns as Columns, Written as Written
from zoo.data.batches.packed import Packed as Packed, unpacked as unpacked
from zoo.data.progress import shown as shown
from zoo.data.purpose import for_training as for_training
from zoo.data.python.collated import collated_corpus as collated_corpus
from zoo.data.python.given import GivenData as GivenData, open_given as open_given
from zoo.data.python.pairs import (
    Pairs as Pairs,
    described_item as described_item,
    is_pair as is_pair,
    label_cell as label_cell,
)
from zoo.data.batches.ragged_ids import (
    RaggedIds as RaggedIds,
    RaggedWriter as RaggedWriter,
    offsets_of as offsets_of,
)
from zoo.data.skip_report import (
    Skipped as Skipped,
    list_skipped as list_skipped,
    read_each as read_each,
)
from zoo.data.source_options import parse as parse
from zoo.data.splits import (
    FIRST_HASH as FIRST_HASH,
    Parts as Parts,
    by_hash as by_hash,
    by_text as by_text,
    complete as complete,
    fingerprint as fingerprint,
    hash_fraction as hash_fraction,
    hash_names as hash_names,
    mix as mix,
)
from zoo.data.subsets import Reference as Reference, StudyInfo as StudyInfo
from zoo.data.tables.label_sets import (
    LABELS as LABELS,
    OPTIONS as OPTIONS,
    LabelSets as LabelSets,
    read_label_sets as read_label_sets,
)
from zoo.data.tables.columns import TableColumns as TableColumns
from zoo.data.tables.labels import check_complete as check_complete, read_classes as read_classes
from zoo.data.tables.line_columns import LineColumns as LineColumns
from zoo.data.tables.roles import Role as Role, choose_columns as choose_columns, described as described
from zoo.data.tables.table import PARTS as PARTS, Table as Table, draw_parts as draw_parts
from zoo.data.metrics.token_metrics import own_loss as own_loss, token_scores as token_scores
from zoo.data.batches.workers import (
    Workers as Workers,
    FEWER_PROCESSORS as FEWER_PROCESSORS,
    default_workers as default_workers,
    read_ahead as read_ahead,
)
from zoo.processors import available_memory as available_memory
