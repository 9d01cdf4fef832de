"""Labels that are validated or tested are those that are trained."""

from collections.abc import Collection, Mapping

from zoo import DataError


def check_trained(labels: Mapping[str, Collection[str]], name: str) -> None:
    """Check that no part has a label that training lacks.

    Args:
        labels: of each part, in their order.
        name: of the data.

    Raises:
        DataError: If one has.
    """
    trained = labels["train"]
    for part, found in labels.items():
        if strange := [label for label in found if label not in trained]:
            raise DataError(
                f"{name}: label{'s' if len(strange) > 1 else ''} {', '.join(strange[:5])} of {part} are in no training "
                f"example, which have {', '.join([*trained][:20])}"
            )
