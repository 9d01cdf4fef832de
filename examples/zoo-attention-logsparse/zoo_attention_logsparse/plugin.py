"""The names; nothing heavy is imported."""

from zoo import AttentionSpec, hookimpl

ZOO_PLUGIN_API = 1


@hookimpl
def zoo_attentions() -> list[AttentionSpec]:
    """Name the pattern and the mechanism; the pattern's file brings the backend."""
    return [
        AttentionSpec(
            name="log-sparse",
            entry="zoo_attention_logsparse.pattern:log_sparse",
            takes="[both]",
            description="Each reads itself and what is 1, 2, 4, 8, … steps back, arXiv:1907.00235.",
        ),
        AttentionSpec(
            name="cosine",
            entry="zoo_attention_logsparse.cosine:cosine",
            takes="[SCALE]",
            description="Queries and keys of length 1, with a learned scale for each head, arXiv:2111.09883.",
        ),
    ]
