from itertools import islice

import pytest
import torch

from zoo.core import IGNORED
from zoo.data.sequences.listops import DIGITS, LEAF, OPERATORS, WORDS, ListOps
from zoo.errors import ConfigError


def value_of(words: list[str]) -> int:
    """Compute an expression with a stack, as a reader of it would."""
    stack: list[list[object]] = [[]]
    for word in words:
        if word in OPERATORS:
            stack.append([word])
        elif word == "]":
            operator, *digits = stack.pop()
            stack[-1].append(OPERATORS[str(operator)]([int(str(digit)) for digit in digits]))
        else:
            stack[-1].append(int(word))
    ((found,),) = stack
    return int(str(found))


def test_an_expression_has_the_value_and_the_parts_that_are_told() -> None:
    assert value_of(["[MAX", "2", "9", "[MIN", "4", "7", "]", "0", "]"]) == 9
    assert value_of(["[MED", "3", "4", "]"]) == 3
    for each in islice(ListOps(shortest=4, longest=40).expressions(3), 200):
        assert 4 <= len(each.words) <= 40
        assert each.value == value_of(each.words)
        assert each.operator == each.words[0]
        depth, own = 0, []
        for word in each.words:
            depth += (word in OPERATORS) - (word == "]")
            own += [int(word)] if depth == 1 and word in DIGITS else []
        assert each.digits == tuple(own)


def test_trees_have_the_bounds_and_the_share_of_digits_that_were_asked_for() -> None:
    found = list(islice(ListOps(shortest=4, longest=10_000, depth=3, arguments=3).expressions(0), 400))
    leaves = operators = 0
    for each in found:
        depth = 0
        for word in each.words:
            depth += (word in OPERATORS) - (word == "]")
            assert depth <= 2
            leaves, operators = leaves + (word in DIGITS and depth == 1), operators + (word in OPERATORS and depth == 2)
    assert leaves / (leaves + operators) == pytest.approx(LEAF, abs=0.05)
    assert max(len(each.digits) for each in found) == 3


def test_the_question_comes_last_and_asks_for_the_value() -> None:
    task = ListOps(shortest=4, longest=30)
    drawn = task.draw(20, torch.Generator().manual_seed(5))
    again = task.draw(20, torch.Generator().manual_seed(5))
    assert torch.equal(drawn.ids, again.ids)
    for ids, length, targets in zip(drawn.ids, drawn.lengths, drawn.targets, strict=True):
        words = [WORDS[number] for number in ids[:length].tolist()]
        assert words[-1] == "?"
        assert targets[length - 1] == value_of(words[:-1])
        assert (targets == IGNORED).sum() == len(ids) - 1
        assert not ids[length:].any()


@pytest.mark.slow
def test_shortcuts_of_the_arena_are_those_that_its_published_figures_cluster_at() -> None:
    guessing, operator, digits = ListOps.arena().shortcuts().values()
    assert guessing == pytest.approx(0.17, abs=0.02)
    assert operator == pytest.approx(0.36, abs=0.03)
    assert digits == pytest.approx(0.48, abs=0.03)


@pytest.mark.parametrize("options", [{"longest": 3}, {"depth": 1}, {"arguments": 1}, {"shortest": 50, "longest": 40}])
def test_lengths_that_no_expression_has_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(options))}={next(iter(options.values()))}"):
        ListOps(**options)
