"""`Extensions`: what a program brings to a training: callbacks, a loss, a metric, loggers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zoo.errors import ConfigError
from zoo.training.callbacks.callback import Callback
from zoo.training.losses.identity import identity_of


@dataclass(frozen=True)
class Extensions:
    """What a program brings to a training.

    Args:
        callbacks: called at each step.
        loss: of answer and target, in place of that of the data.
        metric: of answers and targets; it chooses the checkpoint.
        loggers: of Lightning Fabric's interface.
    """

    callbacks: tuple[Callback, ...] = ()
    loss: Callable[..., Any] | None = None
    metric: Callable[..., Any] | None = None
    loggers: tuple[Any, ...] = ()

    @classmethod
    def of(cls, callbacks: Any, loss: Any, metric: Any, logger: Any) -> "Extensions":
        """Check what a program gives.

        Raises:
            ConfigError: If a callback is no `zoo.training.Callback`, a loss or metric no function, a logger none.
        """
        found = tuple(callbacks) if isinstance(callbacks, list | tuple) else (callbacks,)
        for each in found:
            if not isinstance(each, Callback):
                raise ConfigError(f"callbacks={each!r}: a sub-class of zoo.training.Callback is wanted, as an object")
        for name, function in (("loss", loss), ("metric", metric)):
            if function is not None and not callable(function):
                raise ConfigError(f"{name}={function!r}: a function of answer and target is wanted")
        loggers = () if logger is None else tuple(logger) if isinstance(logger, list | tuple) else (logger,)
        for each in loggers:
            if not callable(getattr(each, "log_metrics", None)):
                raise ConfigError(f"logger={each!r}: a logger of Lightning Fabric is wanted, or its name")
        return cls(found, loss, metric, loggers)

    def check_unused(self, option: str) -> None:
        """Refuse what an option would leave unused.

        Raises:
            ConfigError: If there is a callback, a loss, a metric or a logger.
        """
        given = {"callbacks": self.callbacks, "loss": self.loss, "metric": self.metric, "logger": self.loggers}
        if unused := [name for name, value in given.items() if value]:
            raise ConfigError(f"{option} with {unused[0]}=: a head that is fitted takes no steps and has no use for it")

    @property
    def facts(self) -> dict[str, Any]:
        """Name the loss, by which a resumed training is compared; the metric chooses checkpoints only, by its name."""
        return {"loss": identity_of(self.loss) if self.loss is not None else None}
