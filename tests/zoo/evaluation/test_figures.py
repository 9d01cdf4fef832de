"""Figures are elements of a page, in the colour of its text."""

import numpy as np

from zoo.evaluation import figures


def test_a_figure_is_an_element_without_a_size_or_an_ink_of_its_own() -> None:
    made = figures.svg(figures.confusion(np.array([[3, 1], [0, 2]]), ["cat", "$dog$"]), "Confusion matrix")
    assert made.startswith('<svg role="img" aria-label="Confusion matrix"')
    assert "currentColor" in made
    assert figures.INK not in made
    assert "$dog$" in made


def test_reliability_and_numbers_are_drawn() -> None:
    bins = figures.reliability(np.array([0.2, 0.8]), np.array([0.1, 0.9]), np.array([3, 0]))
    numbers = figures.found_over_wanted(np.array([1.0, 2.0]), np.array([1.5, 2.5]))
    assert all("<svg" in figures.svg(each, "a figure") for each in (bins, numbers))
