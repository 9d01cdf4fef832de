"""The libraries that this plugin needs, or may need; nothing heavy is imported."""

import sys
import warnings

from zoo import Requirement

PYG = Requirement(module="torch_geometric", distribution="torch-geometric", install="attention-zoo[graph]")
RDKIT = Requirement(module="rdkit", distribution="rdkit", install="attention-zoo[molecules]")
SCIPY = Requirement(module="scipy", distribution="scipy", install="attention-zoo[graph]")
TOKENIZERS = Requirement(module="tokenizers", distribution="tokenizers", install="attention-zoo[text]")
SACREBLEU = Requirement(module="sacrebleu", distribution="sacrebleu", install="attention-zoo[text]")
NETWORKX = Requirement(module="networkx", distribution="networkx", install="attention-zoo[graph]")


def import_pyg() -> None:
    """Import PyTorch Geometric without the `FutureWarning` of `torch.jit.script`, which it calls while it is imported.

    Parts of it that are imported afterwards do not warn.
    """
    if "torch_geometric" not in sys.modules:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated")
            import torch_geometric  # noqa: F401
