"""Optimisers and schedules: what a training takes by name, each with its source."""

from collections.abc import Callable, Sequence

from torch import Tensor, nn
from torch.optim import AdamW, Muon, Optimizer

from zoo.core.block import Block
from zoo.errors import ConfigError

Schedule = Callable[[int], float]
"""Step, from 0, to a factor of the learning rate."""
BETAS = (0.9, 0.98)
"""arXiv:1706.03762 sec. 5.3: a second moment that forgets sooner, for trainings of a few thousand steps."""


def optimizers_for(name: str, model: nn.Module, learning_rate: float, weight_decay: float) -> list[Optimizer]:
    """Make the optimisers over a model's parameters.

    Args:
        name: `adamw`, or `muon`: orthogonalised momentum for the matrices of transformer blocks, AdamW for the rest.
        model: the model.
        learning_rate: the highest; Muon's updates are scaled to the size of AdamW's, so one rate serves both.
        weight_decay: of matrices and kernels, never of biases, norms or scales.

    Raises:
        ConfigError: If the name is unknown.
    """
    if name == "adamw":
        return [adamw(list(model.parameters()), learning_rate, weight_decay)]
    if name == "muon":
        matrices = block_matrices(model)
        inside = {id(matrix) for matrix in matrices}
        rest = adamw([p for p in model.parameters() if id(p) not in inside], learning_rate, weight_decay)
        if not matrices:
            return [rest]
        # three steps of Newton-Schulz: as accurate here as five, in two thirds of the time. arXiv:2502.16982 sec. 2.2
        # scales an update to the root mean square of AdamW's
        return [Muon(matrices, learning_rate, weight_decay, ns_steps=3, adjust_lr_fn="match_rms_adamw"), rest]
    raise ConfigError(f"optimizer={name!r} is not one of adamw, muon")


def block_matrices(model: nn.Module) -> list[Tensor]:
    """Find the weights of the linear layers inside transformer blocks."""
    blocks = (module for module in model.modules() if isinstance(module, Block))
    layers = (part for block in blocks for part in block.modules() if isinstance(part, nn.Linear))
    return [layer.weight for layer in layers]


def adamw(parameters: Sequence[Tensor], learning_rate: float, weight_decay: float) -> AdamW:
    """Make AdamW that decays matrices and kernels only."""
    groups = [
        {"params": [p for p in parameters if p.requires_grad and p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.requires_grad and p.ndim < 2], "weight_decay": 0.0},
    ]
    return AdamW([group for group in groups if group["params"]], learning_rate, betas=BETAS, fused=True)


def trapezoid(steps: int, warmup: float = 0.1, decay: float = 0.3) -> Schedule:
    """Rise in a straight line over a share of the steps, stay, and fall in a straight line over another share.

    arXiv:2405.18392 finds it as good as a cosine. It stays high for longer, which is what self-attention wants here: it
    leaves its first plateau late.
    """
    rising, falling = max(1, round(warmup * steps)), max(1, round(decay * steps))
    return lambda step: min(1.0, (step + 1) / rising, (steps - step) / falling)
