"""Validation: what `attend` and `plan` do not accept, each with an error that repeats the caller's value."""

from typing import Any

import torch
from torch import Tensor

from zoo.core.backends.problem import Problem
from zoo.core.engine.arguments import Arguments
from zoo.core.errors import ConfigError, InputError
from zoo.core.patterns.basic import Explicit
from zoo.core.patterns.padding import Keys
from zoo.core.patterns.pattern import Joined, Pattern
from zoo.core.scoring.bias import Bias, Dense
from zoo.core.scoring.normalizers import Hard, Kernel
from zoo.core.scoring.relative_bias import ALiBi, RelativeTable, Shaw, TransformerXL
from zoo.core.scoring.scores import Score

SCORES = ("scaled_dot", "dot")


def validate(given: Arguments) -> None:
    """Check the arguments of `attend`.

    Raises:
        InputError: If shapes or dtypes do not fit.
        ConfigError: If a kind, score, norm or dropout is unknown, or two of them exclude each other.
    """
    check(given.q, given.k, given.v, given.score, given.dropout)
    check_kinds(given.pattern, given.keys, given.bias, given.norm)
    check_start(given.q_start, given.q.shape[0])
    check_before(given)
    if given.k_positions is None:
        given.pattern.fit(given.q.shape[1], given.k.shape[1], given.start, given.whole)
    check_placed(given.q, given.k, given.v, given.bias, given.k_positions)
    if isinstance(given.norm, Kernel) and (given.bias is not None or isinstance(given.score, Score)):
        raise ConfigError(f"norm={given.norm!r} has no scores, so no bias or score={given.score!r} can be used")


def check_problem(problem: Problem) -> None:
    """Check the fields of a problem; see `zoo.core.engine.planner.plan`."""
    p = problem
    check_kinds(p.pattern, None, None, p.norm)
    if min(p.queries, p.keys, p.heads, p.head_dim, p.batch) < 0 or p.heads % (p.kv_heads or p.heads or 1):
        shown = ", ".join(f"{x}={getattr(p, x)}" for x in ("queries", "keys", "batch", "head_dim", "heads", "kv_heads"))
        raise ConfigError(f"{shown}: none is negative, and heads are a multiple of kv_heads")
    if p.bias not in ("", "dense", "relative", "edges"):
        raise ConfigError(f"bias={p.bias!r} is not one of dense, relative, edges, or empty")
    check_dropout(p.dropout)


def check(q: Tensor, k: Tensor, v: Tensor, score: str | Score, dropout: float) -> None:
    """Check queries, keys and values, score and dropout."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.ndim != 4:
            raise InputError(f"{name} of shape {tuple(x.shape)} is not (batch, length, heads, head_dim)")
        if not x.is_floating_point():
            raise InputError(f"{name} is of {x.dtype}; attention needs floating point")
    if not q.dtype == k.dtype == v.dtype:
        raise InputError(f"q, k and v differ in dtype: {q.dtype}, {k.dtype}, {v.dtype}")
    if k.shape[:3] != v.shape[:3] or q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise InputError(f"q {tuple(q.shape)}, k {tuple(k.shape)} and v {tuple(v.shape)} do not fit each other")
    if k.shape[2] == 0 or q.shape[2] % k.shape[2]:
        raise InputError(f"{q.shape[2]} query heads are not a multiple of {k.shape[2]} heads of keys and values")
    if not q.shape[3]:
        raise InputError(f"q {tuple(q.shape)} and k {tuple(k.shape)} have heads of no channels")
    if isinstance(score, str) and score not in SCORES:
        raise ConfigError(f"score={score!r} is not one of {', '.join(SCORES)}, nor a Score")
    check_dropout(dropout)


def check_start(q_start: Any, rows: int) -> None:
    """Check the position of the first query: one integer, or one for each row."""
    if isinstance(q_start, Tensor):
        if q_start.shape != (rows,):
            shape = tuple(q_start.shape)
            raise InputError(f"q_start of shape {shape} for a batch of {rows}: one number, or one a row")
        if not _whole(q_start):
            raise InputError(f"q_start is of {q_start.dtype}: positions are whole numbers")
    elif not isinstance(q_start, int | torch.SymInt) or isinstance(q_start, bool):
        raise InputError(f"q_start={q_start!r} is no whole number, nor a tensor of one for each row")


def check_before(given: Arguments) -> None:
    """Refuse positions before 0, which are those of padding, where none is and a given mask says who may read."""
    if given.keys is not None or not holds_mask(given.pattern) or torch.compiler.is_compiling():
        return
    for name, value in (("q_start", given.q_start), ("k_positions", given.k_positions)):
        lowest = int(value.min()) if isinstance(value, Tensor) and value.numel() else value
        if isinstance(lowest, int) and lowest < 0:
            shown = value.tolist() if isinstance(value, Tensor) else value
            raise InputError(
                f"{name}={shown}: {given.pattern!r} says nothing of positions before 0; say which keys are padding "
                "by keys=, or count from 0"
            )


def holds_mask(pattern: Pattern) -> bool:
    """Tell whether a pattern is a given mask, or has one in it."""
    if isinstance(pattern, Joined):
        return holds_mask(pattern.left) or holds_mask(pattern.right)
    return isinstance(pattern, Explicit)


def _whole(x: Tensor) -> bool:
    return not (x.is_floating_point() or x.is_complex() or x.dtype == torch.bool)


def check_placed(q: Tensor, k: Tensor, v: Tensor, bias: Bias | None, k_positions: Tensor | None) -> None:
    """Check that a bias and the positions of keys fit queries, keys and values."""
    if isinstance(bias, Dense):
        if bias.added.ndim != 4:
            raise InputError(
                f"bias of shape {tuple(bias.added.shape)} is not (batch, heads, queries, keys), each of them or 1"
            )
        wanted = (q.shape[0], q.shape[2], q.shape[1], k.shape[1])
        if any(got not in (1, want) for got, want in zip(bias.added.shape, wanted, strict=True)):
            raise InputError(f"bias of shape {tuple(bias.added.shape)} for (batch, heads, queries, keys) = {wanted}")
    elif isinstance(bias, RelativeTable | ALiBi | Shaw | TransformerXL):
        name = type(bias).__name__
        for x in bias.tensors:
            if x.shape[0] not in (1, q.shape[2]):
                raise InputError(f"{name} of {x.shape[0]} heads for {q.shape[2]} heads of queries")
        for x, size in _channels(bias, q.shape[3], v.shape[3]):
            if x.shape[-1] != size:
                raise InputError(f"{name} holds vectors of {x.shape[-1]} channels for heads of {size}")
    if k_positions is not None and (k_positions.shape != k.shape[:2] or not _whole(k_positions)):
        shown = f"k_positions of shape {tuple(k_positions.shape)} and {k_positions.dtype}"
        raise InputError(f"{shown} for (batch, keys) = {tuple(k.shape[:2])}: they are whole numbers")


def _channels(bias: Bias, of_keys: int, of_values: int) -> list[tuple[Tensor, int]]:
    """Give the tensors of a bias that hold vectors, and how many channels these need."""
    if isinstance(bias, Shaw):
        return list(zip(bias.tensors, (of_keys, of_values), strict=False))
    return [(x, of_keys) for x in bias.tensors] if isinstance(bias, TransformerXL) else []


def check_kinds(pattern: Any, keys: Any, bias: Any, norm: Any) -> None:
    """Check the types of pattern, keys, bias and norm."""
    if not isinstance(pattern, Pattern):
        raise ConfigError(f"pattern={pattern!r} is no Pattern, such as Causal()")
    if keys is not None and not isinstance(keys, Keys):
        raise ConfigError(f"keys={keys!r} is no Keys, such as Lengths(t) or Valid(mask)")
    for name, value in vars(keys).items() if isinstance(keys, Keys) else ():
        if isinstance(value, list | tuple):
            raise InputError(f"{name}={value!r} of {type(keys).__name__} is no tensor: torch.tensor({value!r}) is")
    added = bias.added if isinstance(bias, Dense) else bias
    if isinstance(added, Tensor) and not added.is_floating_point():
        dtype, wanted = added.dtype, "a mask is given as pattern=Explicit(mask) or keys=Valid(mask)"
        raise InputError(f"bias is of {dtype}: {wanted if dtype == torch.bool else 'it is added to the scores'}")
    if norm != "softmax" and not isinstance(norm, Kernel | Hard):
        raise ConfigError(f"norm={norm!r} is not softmax, nor a Kernel or Hard")


def check_dropout(dropout: float) -> None:
    """Check that dropout is a probability below 1."""
    if not 0 <= dropout < 1:
        raise ConfigError(f"dropout={dropout} is not in [0, 1)")
