"""Public names for files of weights."""

from zoo.weights.checkpoint import save as save
from zoo.weights.hub import (
    fetch as fetch,
    is_repository as is_repository,
    read_config as read_config,
    read_json as read_json,
)
from zoo.weights.sharing import push as push, push_to_hub as push_to_hub
from zoo.weights.token_ids import (
    fetch_tokenizer as fetch_tokenizer,
    has_bytes as has_bytes,
    special_tokens as special_tokens,
)
