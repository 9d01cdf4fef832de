"""`LogSparse`: a query reads itself and keys at distances that are powers of two, arXiv:1907.00235 sec. 4.2."""

from dataclasses import dataclass

from torch import Tensor

from zoo import ConfigError
from zoo.core import BoundingBand, Pattern, add_backend
from zoo_attention_logsparse.backend import LogGather


@dataclass(frozen=True)
class LogSparse(Pattern):
    """Let the query at i read the keys at i, i - 1, i - 2, i - 4, …

    Args:
        both: whether it reads as far ahead, too.
    """

    both: bool = False

    def allows(self, i: Tensor, j: Tensor) -> Tensor:
        """See `Pattern.allows`: 0 and powers of two have no bit in common with the number before them."""
        distance = (i - j).abs() if self.both else i - j
        return (distance >= 0) & ((distance & (distance - 1)) == 0)

    def cover(self) -> BoundingBand:
        """See `Pattern.cover`."""
        return BoundingBand(None, None if self.both else 0)

    def offsets(self, length: int) -> list[int]:
        """Give how far back the keys of a query lie; negative ones lie ahead."""
        back = [0, *(1 << power for power in range(max(length - 1, 0).bit_length()))]
        return back + [-step for step in back[1:]] if self.both else back

    def __str__(self) -> str:
        return "log-sparse:both" if self.both else "log-sparse"


def log_sparse(direction: str = "back") -> LogSparse:
    """Read `log-sparse` or `log-sparse:both`."""
    if direction not in ("back", "both"):
        raise ConfigError(f"log-sparse:{direction}: write log-sparse or log-sparse:both")
    return LogSparse(direction == "both")


add_backend(LogGather(LogSparse))
