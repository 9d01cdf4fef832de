"""Public names of the registry, and of what loads the code behind a name."""

from zoo.registry.entry_loading import broken as broken, load as load, require as require
from zoo.registry.lookup import Registry as Registry, using as using
