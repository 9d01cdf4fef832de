import pytest

from zoo import DataError
from zoo.plugins.graph.data.trained_labels import check_trained


def test_labels_that_training_lacks_are_named_with_those_that_there_are() -> None:
    check_trained({"train": ["b", "a"], "validation": ["a"], "test": []}, "mine")
    with pytest.raises(DataError, match=r"^mine: label c of test are in no training example, which have b, a$"):
        check_trained({"train": ["b", "a"], "test": ["a", "c"]}, "mine")
    with pytest.raises(DataError, match="labels c, d of validation"):
        check_trained({"train": ["b"], "validation": ["c", "d"]}, "mine")
