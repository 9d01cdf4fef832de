"""What listing a plugin costs: it is imported in a new process, which is timed, and what it imports is named."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from zoo.plugin_check.finding import Finding, error

HEAVY = ("torch", "numpy", "timm", "torchaudio", "torch_geometric", "tokenizers", "sklearn", "matplotlib")
"""Libraries that no plugin may import to tell its names."""
MOST_SECONDS = 1.0
"""Import and hooks together; each command of `zoo` waits for them, those of other plugins too."""
_TIMEOUT = 120
_BEGIN = "zoo-plugin-check begins"
_SCRIPT = """
import json, sys, time
from zoo.registry.lookup import Registry
print({begin!r}, file=sys.stderr, flush=True)
before, start = set(sys.modules), time.perf_counter()
import importlib
importlib.import_module({module!r})
middle = time.perf_counter()
plugins = Registry(plugins=[{module!r}], autoload=False).plugins()
end = time.perf_counter()
loaded = sorted(set(sys.modules) - before)
print("\\n" + json.dumps({{"import": middle - start, "hooks": end - middle, "loaded": loaded}}))
"""


@dataclass(frozen=True)
class Cost:
    """Hold what was measured: seconds of import and of the hooks, modules loaded, and who imported each first."""

    importing: float
    hooks: float
    loaded: frozenset[str]
    importers: dict[str, tuple[str, float]]
    """Module to the module that imported it, and the seconds it took with all that it imports."""

    @property
    def total(self) -> float:
        """Seconds of import and hooks together."""
        return self.importing + self.hooks


def measure(module: str) -> Cost | str:
    """Import a plugin's module in a new process; give the cost, or the last lines of what went wrong."""
    command = [sys.executable, "-X", "importtime", "-c", _SCRIPT.format(module=module, begin=_BEGIN)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=_TIMEOUT)
    except subprocess.TimeoutExpired:
        return f"its import did not end within {_TIMEOUT} s"
    _, _, told = done.stderr.partition(_BEGIN)
    if done.returncode or not done.stdout.strip():
        lines = [line for line in told.splitlines() if line and not line.startswith("import time:")]
        return lines[-1] if lines else f"the process ended with code {done.returncode}"
    found = json.loads(done.stdout.splitlines()[-1])
    return Cost(found["import"], found["hooks"], frozenset(found["loaded"]), importers(told))


def _least(module: str) -> Cost | str:
    """Measure once, and twice more where that was long: another program may have kept the processor."""
    least = measure(module)
    for _ in range(2):
        if isinstance(least, str) or least.total <= MOST_SECONDS:
            break
        again = measure(module)
        least = again if isinstance(again, str) else min(least, again, key=lambda cost: cost.total)
    return least


def importers(text: str) -> dict[str, tuple[str, float]]:
    """Read what `-X importtime` writes: a module stands behind those that it imports, which are indented more."""
    rows = re.findall(r"^import time:\s*\d+ \|\s*(\d+) \| ( *)(\S+)$", text, re.MULTILINE)
    found: dict[str, tuple[str, float]] = {}
    open_at: list[tuple[int, str]] = []  # of the modules that are being imported, read from the end
    for microseconds, indent, name in reversed(rows):
        while open_at and open_at[-1][0] >= len(indent):
            open_at.pop()
        found[name] = (open_at[-1][1] if open_at else "", int(microseconds) / 1e6)
        open_at.append((len(indent), name))
    return found


def check_cost(module: str, needed: Iterable[str]) -> list[Finding]:
    """Measure a plugin, and find what it imports too early.

    Args:
        module: that the entry point names.
        needed: import names of libraries that its records require.
    """
    cost = _least(module)
    if isinstance(cost, str):
        return [error(module, f"does not import: {cost}", f"run python -c 'import {module}' and mend what it shows")]
    found = []
    for heavy in sorted({*HEAVY, *needed} & cost.loaded):
        importer, seconds = cost.importers.get(heavy, ("", 0.0))
        found.append(
            error(
                importer or module,
                f"listing the plugin's names imports {heavy} ({seconds:.2f} s)",
                f"import {heavy} in the file that an entry such as 'package.models:Model' names, not in {module}",
            )
        )
    if cost.total > MOST_SECONDS:
        own = module.partition(".")[0]
        costly = sorted(cost.importers.items(), key=lambda each: -each[1][1])
        others = [f"{name} {seconds:.2f} s" for name, (_, seconds) in costly if name.partition(".")[0] != own][:3]
        what = f"its import takes {cost.importing:.1f} s and its hooks {cost.hooks:.1f} s, for every command of zoo"
        spent = f", of which {', '.join(others)}" if others else ""
        found.append(error(module, what + spent, "move what takes long into the functions that entries name"))
    return found
