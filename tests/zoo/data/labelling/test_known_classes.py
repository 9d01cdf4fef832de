import torch

from zoo.data.labelling.known_classes import first_of_each


def test_the_first_examples_of_each_class_are_chosen_and_those_without_a_class_never() -> None:
    classes = torch.tensor([1, 0, 1, -100, 1, 0, 2])
    assert first_of_each(classes, [1, 2, 0]).tolist() == [0, 1, 2]
    assert first_of_each(classes, [9, 9, 9]).tolist() == [0, 1, 2, 4, 5, 6]
