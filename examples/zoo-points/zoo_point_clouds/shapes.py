"""Shapes drawn by a rule: points on spheres, cubes, cylinders and rings, turned, stretched and blurred."""

import torch
from torch import Tensor
from torch.nn.functional import normalize

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, complete
from zoo_point_clouds.data import Cloud, CloudCorpus

SHAPES = ("cube", "cylinder", "ring", "sphere")


def draw(shape: str, count: int, generator: torch.Generator) -> Tensor:
    """Draw points of a shape, (count, 3)."""
    x = torch.randn(count, 3, generator=generator)
    u = 2 * torch.rand(count, 3, generator=generator) - 1
    if shape == "sphere":
        points = normalize(x, dim=-1)
    elif shape == "cube":
        points = u / u.abs().amax(-1, keepdim=True)
    elif shape == "cylinder":
        points = torch.cat([normalize(x[:, :2], dim=-1), u[:, 2:]], -1)
    else:
        points = torch.cat([normalize(x[:, :2], dim=-1), 0.15 * u[:, 2:]], -1)
    frame, _ = torch.linalg.qr(torch.randn(3, 3, generator=generator))
    stretch = 0.8 + 0.4 * torch.rand(3, generator=generator)
    return (points * stretch) @ frame + 0.03 * torch.randn(count, 3, generator=generator)


def open_shapes(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> CloudCorpus:
    """Open `shapes:COUNT`, 400 clouds if no number is given."""
    if argument and not (argument.isdecimal() and int(argument) >= 40):
        raise DataError(f"shapes:{argument}: give a number of clouds, 40 or more")
    generator, count = torch.Generator().manual_seed(seed), int(argument or 400)
    sizes = torch.randint(48, 97, (count,), generator=generator).tolist()
    clouds = [Cloud(str(at), SHAPES[at % 4], draw(SHAPES[at % 4], size, generator)) for at, size in enumerate(sizes)]
    parts = complete({"train": clouds}, lambda cloud: cloud.name, seed, "shapes").by_name()
    return CloudCorpus(DatasetInfo("shapes", "Shapes drawn by a rule.", f"shapes-{count}-{seed}"), spec, parts)
