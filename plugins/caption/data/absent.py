"""Pictures that are left out of the user's data, since they are not there: named and counted."""

from collections.abc import Sequence

from zoo import DataError
from zoo.data import Skipped, list_skipped


def notes_of(skipped: Sequence[Skipped], total: int, data: str, hint: str = "") -> tuple[str, ...]:
    """Give the note that names and counts the pictures that are left out; none where all are there.

    Args:
        skipped: the pictures, with the reasons.
        total: pictures in all.
        data: that they are of, for an error.
        hint: what to do if none is there.

    Raises:
        DataError: If no picture is left.
    """
    if skipped and len(skipped) == total:
        first = skipped[0]
        raise DataError(f"{data}: of {total:,} pictures none can be used, such as {first.name}: {first.why}{hint}")
    return (list_skipped(skipped, total, "pictures"),) if skipped else ()
