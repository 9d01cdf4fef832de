"""`zoo list attention=` and `zoo info attention=NAME`: what `attention=` can name, and what a mechanism can do."""

from dataclasses import asdict
from typing import Any

from zoo.factory.attention_argument import attention
from zoo.registry.lookup import registry

PREFIX = "attention="
DIM, HEADS, LENGTH = 64, 4, 1024
"""Of the layer whose cost is shown."""


def described() -> list[dict[str, str]]:
    """Give name, description and plugin of all that can be named; nothing is imported for it."""
    return [
        {
            "name": f"{spec.name}:{spec.takes}" if spec.takes else spec.name,
            "description": spec.description,
            "plugin": spec.plugin,
        }
        for spec in registry().attentions
    ]


def facts(text: str) -> dict[str, Any]:
    """Describe a pattern or mechanism as it is written behind `attention=`; a mechanism with abilities tells them.

    Args:
        text: such as `gla`, `linformer:64`, `window:16 & causal`.

    Raises:
        ConfigError: If the text is none.
    """
    layer = attention(text)(DIM, HEADS)
    specs = {spec.name: spec for spec in registry().attentions}
    spec = specs.get(text.partition(":")[0].strip())
    found = {"name": text, "description": "" if spec is None else spec.description, "layer": type(layer).__name__}
    if not hasattr(layer, "abilities"):
        return found | {"pattern": str(layer.pattern)}
    cost = layer.cost(LENGTH)
    shown = f"{cost.multiply_adds:,} multiply-adds, {cost.numbers:,} numbers"
    return found | asdict(layer.abilities) | {f"{LENGTH:,} tokens, {DIM} channels": shown}
