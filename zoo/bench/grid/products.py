"""Rules of products (`ZOO_PRODUCTS`) that computed the results of a study: recorded, and no part of a run's key."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from zoo.core.ops.products import VARIABLE, chosen
from zoo.names import counted


def mixed(records: Iterable[Mapping[str, Any]]) -> str:
    """Tell of results that several rules computed; empty if one did, or if they do not say.

    Args:
        records: results of a study, perhaps of several machines.
    """
    rules = _rules(records)
    if len(rules) < 2:
        return ""
    made = ", ".join(f"{counted(count, 'run')} with {VARIABLE}={rule}" for rule, count in rules.most_common())
    return f"results were computed by several ways to multiply, whose sums differ in their last bits: {made}"


def changed(records: Iterable[Mapping[str, Any]]) -> str:
    """Tell that runs to do will be computed by another rule than all the results there are; empty if by the same.

    Args:
        records: results that there are.
    """
    rules = _rules(records)
    if len(rules) != 1 or chosen() in rules:
        return ""
    ((rule, count),) = rules.items()
    return (
        f"{counted(count, 'run')} done before had {VARIABLE}={rule}, those to do have {chosen()}: their sums differ in "
        f"their last bits; {VARIABLE}={rule} goes on alike"
    )


def _rules(records: Iterable[Mapping[str, Any]]) -> "Counter[str]":
    """Count the rules of results that a CPU computed; old ones do not say."""
    good = (record for record in records if "error" not in record and record.get("device", "cpu") == "cpu")
    return Counter(record["products"] for record in good if "products" in record)
