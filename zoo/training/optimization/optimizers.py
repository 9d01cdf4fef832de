"""Optimizers and learning-rate schedules by name, each with its source."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd
from torch.optim import SGD, Adam, AdamW, Optimizer

from zoo.core.layers.transformer import Decoder, Stack
from zoo.errors import ConfigError
from zoo.names import did_you_mean
from zoo.training.config import OPTIMIZERS, SCHEDULES
from zoo.training.optimization.muon import BatchedMuon

Schedule = Callable[[int], float]
"""Step, from 0, to the factor of the learning rate."""
MOMENTUM = 0.9
"""Of SGD, with Nesterov's step."""
BETAS = (0.9, 0.98)
"""arXiv:1706.03762 sec. 5.3: a second moment that forgets sooner, for trainings of a few thousand steps."""


def optimizers_for(name: str, model: nn.Module, learning_rate: float, weight_decay: float) -> list[Optimizer]:
    """Make the optimizers over a model's parameters.

    Args:
        name: `adam`, as arXiv:1706.03762 sec. 5.3 sets it, without decay; `adamw`; `muon`: orthogonalised momentum
            for the matrices of transformer blocks, AdamW for the rest; `muon-hidden`: that for `hidden_weights`,
            which are of networks of every kind; or `sgd`, with momentum 0.9 after Nesterov, whose decay is part of the
            gradient.
        model: the model.
        learning_rate: peak learning rate; Muon's updates are scaled to AdamW's size, so one rate serves both.
        weight_decay: of matrices and kernels, never of biases, norms or scales.

    Raises:
        ConfigError: If the name is unknown.
    """
    if name == "adam":
        trained = [p for p in model.parameters() if p.requires_grad]
        return [Adam(trained, learning_rate, betas=BETAS, eps=1e-9, fused=True)]
    if name == "adamw":
        return [adamw(list(model.parameters()), learning_rate, weight_decay)]
    if name in ("muon", "muon-hidden"):
        matrices = block_matrices(model) if name == "muon" else hidden_weights(model)
        inside = {id(matrix) for matrix in matrices}
        others = [p for p in model.parameters() if p.requires_grad and id(p) not in inside]
        rest = [adamw(others, learning_rate, weight_decay)] if others else []
        if not matrices:
            return [*rest]
        # three steps of Newton-Schulz: as accurate here as five, in two thirds of the time. arXiv:2502.16982 sec. 2.2
        # scales an update to the root mean square of AdamW's
        return [BatchedMuon(matrices, learning_rate, weight_decay, ns_steps=3, adjust_lr_fn="match_rms_adamw"), *rest]
    if name == "sgd":
        groups = decayed(list(model.parameters()), weight_decay)
        return [SGD(groups, learning_rate, momentum=MOMENTUM, nesterov=True)]
    raise ConfigError(f"optimizer={name!r} is not one of {', '.join(OPTIMIZERS)}.{did_you_mean(name, OPTIMIZERS)}")


def block_matrices(model: nn.Module) -> list[Tensor]:
    """Find the weights of the linear layers inside the blocks of encoders and decoders, of whatever kind they are."""
    stacks = (module for module in model.modules() if isinstance(module, Stack | Decoder))
    layers = (part for stack in stacks for part in stack.blocks.modules() if isinstance(part, nn.Linear))
    return [layer.weight for layer in layers if isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad]


def hidden_weights(model: nn.Module) -> list[Tensor]:
    """Find the weights that `muon-hidden` orthogonalises: matrices between input and output, and convolution kernels.

    Matrices are those of `block_matrices`; of a network without such blocks, those of all layers but embeddings and the
    last, since Keller Jordan leaves embeddings and the classifier to AdamW. Kernels are all that sum over channels. A
    depthwise kernel (out, 1, *taps) is no map between channels: each row is a filter of its own, which the
    orthogonalisation would mix with those of other channels, and a single row it would only normalise. AdamW trains
    those, as in timm's Muon, whose author found it better for networks with many of them.
    """
    matrices = block_matrices(model) or _layer_matrices(model)[:-1]
    convolutions = (part for part in model.modules() if isinstance(part, _ConvNd))
    kernels = [part.weight for part in convolutions if part.weight.shape[1] > 1]
    unique = {id(weight): weight for weight in (*matrices, *kernels) if weight.requires_grad}
    return list(unique.values())


def _layer_matrices(model: nn.Module) -> list[Tensor]:
    """Give the matrices of layers, PyG's too, in the order in which they were made."""
    layers = (part for part in model.modules() if not isinstance(part, nn.Embedding | nn.EmbeddingBag))
    weights = (getattr(part, "weight", None) for part in layers)
    return [weight for weight in weights if isinstance(weight, nn.Parameter) and weight.ndim == 2]


def adamw(parameters: Sequence[Tensor], learning_rate: float, weight_decay: float) -> AdamW:
    """Make AdamW that decays matrices and kernels only."""
    return AdamW(decayed(parameters, weight_decay), learning_rate, betas=BETAS, fused=True)


def decayed(parameters: Sequence[Tensor], weight_decay: float) -> list[dict[str, Any]]:
    """Group those that are trained: matrices and kernels with weight decay, others without."""
    groups = [
        {"params": [p for p in parameters if p.requires_grad and p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.requires_grad and p.ndim < 2], "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def schedule_for(name: str, steps: int, warmup: int) -> Schedule:
    """Make a schedule by name.

    Args:
        name: `constant`, `cosine`, `linear`, `noam`, `one-cycle` or `trapezoid`.
        steps: of the training.
        warmup: warm-up steps, until the learning rate is at its peak.

    Raises:
        ConfigError: If the name is unknown, or the warm-up is not within the steps (`noam` knows no end).
    """
    if warmup < 1 or (warmup > steps and name != "noam"):
        raise ConfigError(f"warmup={warmup}: between 1 step and all {steps} of the training are needed")
    if name == "constant":
        return constant(warmup)
    if name == "cosine":
        return cosine(steps, warmup)
    if name == "linear":
        return linear(steps, warmup)
    if name == "noam":
        return noam(warmup)
    if name == "one-cycle":
        return one_cycle(steps, warmup)
    if name == "trapezoid":
        return trapezoid(steps, warmup / steps)
    raise ConfigError(f"schedule={name!r} is not one of {', '.join(SCHEDULES)}.{did_you_mean(name, SCHEDULES)}")


def trapezoid(steps: int, warmup: float = 0.1, decay: float = 0.3) -> Schedule:
    """Linear warm-up over a share of the steps, constant, linear decay over another share.

    arXiv:2405.18392 finds it as good as a cosine. It stays high for longer, which is what self-attention wants here: it
    leaves its first plateau late.
    """
    rising, falling = max(1, round(warmup * steps)), max(1, round(decay * steps))
    return lambda step: min(1.0, (step + 1) / rising, (steps - step) / falling)


def constant(warmup: int) -> Schedule:
    """Linear warm-up, then constant."""
    return lambda step: min(1.0, (step + 1) / warmup)


def cosine(steps: int, warmup: int) -> Schedule:
    """Linear warm-up, then half a cosine to 0: arXiv:1608.03983 eq. 5, once."""
    left = max(1, steps - warmup)
    return lambda step: min((step + 1) / warmup, 0.5 + 0.5 * math.cos(math.pi * max(0, step + 1 - warmup) / left))


def linear(steps: int, warmup: int) -> Schedule:
    """Linear warm-up, then linear decay to 0, as in arXiv:1810.04805 sec. A.2."""
    left = max(1, steps - warmup)
    return lambda step: min((step + 1) / warmup, max(0, steps - step) / left)


def one_cycle(steps: int, warmup: int, start: float = 1 / 25, end: float = 1 / 25e4) -> Schedule:
    """Half a cosine up, and half a cosine down to nearly 0: arXiv:1708.07120, as PyTorch's `OneCycleLR`.

    Args:
        steps: of the training.
        warmup: steps up to the peak.
        start: first factor.
        end: last factor.
    """
    top = max(1, warmup - 1)
    left = max(1, steps - 1 - top)

    def factor(step: int) -> float:
        low, share = (start, step / top) if step <= top else (end, 1 - (step - top) / left)
        return low + (1 - low) * (0.5 - 0.5 * math.cos(math.pi * share))

    return factor


def noam(warmup: int) -> Schedule:
    """Linear warm-up, then inverse square root of the step: arXiv:1706.03762 eq. 3.

    The factor is 1 at the peak; with `noam_peak` as learning rate their product is the paper's rate.
    """
    return lambda step: min((step + 1) / warmup, math.sqrt(warmup / (step + 1)))


def noam_peak(dim: int, warmup: int) -> float:
    """Return the peak learning rate of arXiv:1706.03762 eq. 3, at step `warmup`.

    Args:
        dim: channels of the model.
        warmup: warm-up steps.
    """
    return float(dim**-0.5 * warmup**-0.5)
