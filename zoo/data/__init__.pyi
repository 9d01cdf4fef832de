"""Public names for data."""

from zoo.data.batched_corpus import About as About, Served as Served, judged as judged, moved as moved
from zoo.data.cache import once as once
from zoo.data.corpus import Batch as Batch, open_corpus as open_corpus
from zoo.data.image_source import (
    Examples as Examples,
    Reference as Reference,
    Source as Source,
    open_source as open_source,
)
from zoo.data.labels import labels_of as labels_of, names_of as names_of, ranked as ranked
from zoo.data.progress import shown as shown
from zoo.data.ragged_ids import Rows as Rows
from zoo.data.skip_report import Skipped as Skipped, told as told
from zoo.data.source_options import parse as parse
from zoo.data.splits import Parts as Parts, complete as complete, fingerprint as fingerprint
from zoo.data.token_metrics import token_scores as token_scores
