"""The attention engine: knows no modality, no model name and no registry.

`from zoo.core import attend, Attention, Full, Causal, ...`; every public name is fetched at first use.
"""
