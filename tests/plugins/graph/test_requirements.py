"""Libraries of the plugin are imported without their warnings."""

import subprocess
import sys

import pytest

READS = {
    "smiles": "from zoo.plugins.graph.io.smiles import of_smiles; of_smiles('CCO')",
    "karate": "import zoo; zoo.data.open_corpus('karate', zoo.info('gat-cora'), 0)",
}


@pytest.mark.parametrize(
    "read",
    [pytest.param(code, id=name, marks=[pytest.mark.slow] if name == "smiles" else []) for name, code in READS.items()],
)
def test_pyg_is_imported_without_its_warning(read: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error:`torch.jit.script` is deprecated", "-c", read], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
