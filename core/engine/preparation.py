"""Preparation of a call: features that backends do not support are expressed by arguments that they do."""

from dataclasses import replace
from typing import Any

from zoo.core.engine.arguments import Arguments
from zoo.core.patterns.canonical import canonical
from zoo.core.patterns.pattern import Or, Pattern
from zoo.core.scoring.bias import Bias, Dense
from zoo.core.scoring.edge_bias import EdgeBias, for_pattern
from zoo.core.scoring.scores import General


def prepare(given: Arguments) -> Arguments:
    """Fold keys that the pattern respects anyway, edges that count twice, and a bilinear score into other arguments.

    Preparing twice changes nothing. `attend`, `edge_weights`, `weight_blocks` and streaming attention share it.

    Args:
        given: arguments that `zoo.core.engine.validation.validate` has let pass.

    Raises:
        ConfigError: If a graph counts pairs more than once, and the bias does not know of it.
        InputError: If the bias belongs to the edges of another graph, or a score to other heads.
    """
    changed: dict[str, Any] = {}
    if given.keys is not None and given.pattern.keeps(given.keys):
        changed["keys"] = None
    pattern, bias = _with_edges(given)
    if isinstance(bias, Dense) and bias.added.dtype != given.q.dtype:
        bias = Dense(bias.added.to(given.q.dtype))  # as other biases do it
    if pattern is not given.pattern or bias is not given.bias:
        changed |= {"pattern": pattern, "bias": bias}
    if isinstance(given.score, General):  # a product after all
        changed |= {"q": given.score.query(given.q.transpose(1, 2)).transpose(1, 2), "score": "dot"}
    return replace(given, **changed) if changed else given


def _with_edges(given: Arguments) -> tuple[Pattern, Bias | None]:
    """Give the bias that the graphs of a pattern need; a graph that is joined with global positions becomes one."""
    pattern, bias = given.pattern, for_pattern(given.pattern, given.bias)
    if not (isinstance(pattern, Or) and isinstance(bias, EdgeBias) and given.start is not None):
        return pattern, bias
    pattern = canonical(pattern, given.q.shape[1], given.k.shape[1], given.start)
    return pattern, bias.onto(pattern)
