"""`Explorable`: what every model has that shows its attention as a page."""

from pkgutil import resolve_name
from typing import Any

from zoo.core.errors import ConfigError


class Explorable:
    """Give a model `explore`, which says of one without attention weights what can be shown instead."""

    explorer: str | None = None
    """Where the function is that `explore` calls, as `package.module:name`; set by what makes models by name."""

    def explore(self, *inputs: Any, **options: Any) -> Any:
        """Give a page that shows the attention of the model, in a notebook or by `.save(path)` as an HTML file.

        Args:
            inputs: as for the model, or raw, as its preprocessing reads them: a text, a file, a PIL image; two raw
                inputs, or a list of them, stand side by side.
            options: of `zoo.viz.explorer.exploration.explore`: `layers`, `heads`, `part`, `max_len`, `beam`, `title`.

        Raises:
            ConfigError: If the model was not made by name, has no attention weights, or not the chosen ones.
            InputError: If there are more weights than a page holds, or an input cannot be read.
        """
        if self.explorer is None:
            raise ConfigError(
                f"{type(self).__name__} was not made by zoo.create: zoo.viz.explorer.exploration.explore(model, ...)"
            )
        return resolve_name(self.explorer)(self, *inputs, **options)
