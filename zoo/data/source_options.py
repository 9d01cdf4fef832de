"""Options of a source, after its argument: `FILE?key=value&key=value`."""

from collections.abc import Sequence
from urllib.parse import parse_qsl

from zoo.errors import DataError


def parse(argument: str, known: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Part `FILE?key=value&key=value` into the file and its options.

    Raises:
        DataError: If an option is none of the known.
    """
    place, _, query = argument.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = [key for key in options if key not in known]
    if unknown or (query and not options):
        raise DataError(f"{argument!r}: {'?' + query} is not understood; options are {', '.join(known)}")
    return place, options
