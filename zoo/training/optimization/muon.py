"""Muon on matrices and convolution kernels, small ones together, in the precision that the processor is fast in."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim import Muon
from torch.optim._muon import _adjust_lr

from zoo.core.ops.bfloat16 import fast_bfloat16

TOGETHER = 2**18
"""Numbers of the matrices in one product: larger ones fill the processor alone."""


class BatchedMuon(Muon):
    """Muon (https://kellerjordan.github.io/posts/muon/), as PyTorch's, which takes matrices one by one in bfloat16.

    A kernel (out, in, *taps) is the matrix (out, in x taps), its update scaled by those sizes, as in Keller Jordan's
    and timm's, which agree with it in the tests. Its state is that of PyTorch's, in the kernel's own shape. A processor
    that emulates bfloat16 multiplies in float32 here.

    Args:
        params: matrices and kernels.
        options: those of `torch.optim.Muon`.
    """

    def __init__(self, params: Iterable[Tensor], *args: Any, **options: Any) -> None:
        super().__init__([torch.zeros(1, 1)], *args, **options)  # its checks and defaults; it refuses kernels alone
        self.param_groups.clear()
        self.add_param_group({"params": list(params)})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Make a step.

        Args:
            closure: computes the loss again.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            parameters: list[Tensor] = []
            gradients: list[Tensor] = []
            momenta: list[Tensor] = []
            self._init_group(group, parameters, gradients, momenta)
            if parameters:
                _step(group, parameters, gradients, momenta)
        return loss


def _step(group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor], momenta: list[Tensor]) -> None:
    torch._foreach_lerp_(momenta, gradients, 1 - group["momentum"])
    updates = torch._foreach_lerp(gradients, momenta, group["momentum"]) if group["nesterov"] else momenta
    torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
    by_shape: dict[torch.Size, list[int]] = {}
    for place, parameter in enumerate(parameters):
        by_shape.setdefault(parameter.flatten(1).shape, []).append(place)
    for shape, places in by_shape.items():
        size = _adjust_lr(group["lr"], group["adjust_lr_fn"], shape)
        most = max(1, TOGETHER // shape.numel())
        for some in (places[begin : begin + most] for begin in range(0, len(places), most)):
            matrices = torch.stack([updates[place].flatten(1) for place in some])
            found = orthogonalized(matrices, group["ns_coefficients"], group["ns_steps"], group["eps"])
            own = [parameters[place] for place in some]
            torch._foreach_add_(own, [each.view(p.shape) for each, p in zip(found, own, strict=True)], alpha=-size)


def orthogonalized(
    matrices: Float[Tensor, "n rows columns"], coefficients: tuple[float, float, float], steps: int, eps: float
) -> Float[Tensor, "n rows columns"]:
    """Bring the singular values of matrices near 1, by iterations of Newton-Schulz.

    Args:
        matrices: of one shape.
        coefficients: of x, x³ and x⁵ in the polynomial that is applied to the singular values.
        steps: iterations.
        eps: the least norm to divide by.
    """
    low = fast_bfloat16() if matrices.device.type == "cpu" else True
    x = matrices.to(torch.bfloat16 if low else torch.promote_types(matrices.dtype, torch.float32))
    wide = x.shape[1] <= x.shape[2]
    x = x if wide else x.mT
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=eps)
    a, b, c = coefficients
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x if wide else x.mT).to(matrices.dtype)
