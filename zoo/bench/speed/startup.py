"""Start-up time: `import zoo` over bare Python, `zoo list` over typer and rich."""

import statistics
import subprocess
import sys
import time

COMMANDS = {
    "bare": ["-c", "pass"],
    "import zoo": ["-c", "import zoo"],
    "typer, rich": ["-c", "import typer, rich"],
    "zoo list": ["-c", "import sys; sys.argv = ['zoo', 'list']; from zoo.cli.app import main; main()"],
}
LIMITS = {"import zoo": ("bare", 50.0), "zoo list": ("typer, rich", 150.0)}
"""Command: what it is compared with, and how many ms more it may take."""


def measure(repeats: int = 15) -> dict[str, list[float]]:
    """Time each command in a process of its own, in turns, so that what else runs here weighs on all alike.

    Returns:
        Command to its times, in ms.
    """
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(repeats + 1):
        for name, arguments in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            if turn:  # The first warms the file cache.
                times[name].append(1000 * (time.perf_counter() - start))
    return times


def table(times: dict[str, list[float]]) -> str:
    """Write the median of each command, and what it adds to its base: the median over the turns."""
    lines = [f"{'command':14}{'median ms':>10}{'adds ms':>9}{'at most':>9}"]
    for name, own in times.items():
        base, limit = LIMITS.get(name, ("", 0.0))
        adds = statistics.median(a - b for a, b in zip(own, times[base], strict=True)) if base else 0.0
        compared = f"{adds:9.0f}{limit:9.0f}" if base else ""
        lines.append(f"{name:14}{statistics.median(own):10.0f}{compared}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(measure()))
