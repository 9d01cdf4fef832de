"""The libraries that this plugin needs, or may need; nothing heavy is imported."""

from zoo import Requirement

PYG = Requirement(module="torch_geometric", distribution="torch-geometric", install="attention-zoo[graph]")
RDKIT = Requirement(module="rdkit", distribution="rdkit", install="attention-zoo[molecules]")
SCIPY = Requirement(module="scipy", distribution="scipy", install="attention-zoo[graph]")
TOKENIZERS = Requirement(module="tokenizers", distribution="tokenizers", install="attention-zoo[text]")
SACREBLEU = Requirement(module="sacrebleu", distribution="sacrebleu", install="attention-zoo[text]")
NETWORKX = Requirement(module="networkx", distribution="networkx", install="attention-zoo[graph]")
