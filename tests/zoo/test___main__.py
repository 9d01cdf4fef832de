"""The command by the name of its package."""

import subprocess
import sys

import zoo


def test_the_package_is_the_command_and_has_its_exit_codes() -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "zoo", *arguments], capture_output=True, text=True)

    assert run("--version").stdout == f"zoo {zoo.__version__}\n"
    wrong = run("info", "no-such-model")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("zoo: Unknown model (no-such-model)")
