import pytest

import zoo
from zoo.training.fine_tuning.layer_decay import decay_by_layer
from zoo.training.fine_tuning.parts import depths
from zoo.training.optimization.optimizers import optimizers_for


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_layer_has_the_rate_of_the_one_above_it_times_the_factor(optimizer: str) -> None:
    model = zoo.create("vit-micro", depth=2, dim=16, num_heads=2, mlp_dim=16, patch_size=4, image_size=8)
    optimizers = optimizers_for(optimizer, model, 0.1, 0.05)
    decay_by_layer(optimizers, model, 0.5)
    rates = {id(p): group["lr"] for each in optimizers for group in each.param_groups for p in group["params"]}
    known = depths(model)
    assert len(rates) == len(known)
    for name, parameter in model.named_parameters():
        assert rates[id(parameter)] == pytest.approx(0.1 * 0.5 ** (max(known.values()) - known[name]))


def test_what_decays_stays_what_it_was() -> None:
    model = zoo.create("vit-micro", depth=2, dim=16, num_heads=2, mlp_dim=16, patch_size=4, image_size=8)
    optimizers = optimizers_for("adamw", model, 0.1, 0.05)
    decay_by_layer(optimizers, model, 0.75)
    for group in optimizers[0].param_groups:
        assert {p.ndim >= 2 for p in group["params"]} == {group["weight_decay"] > 0}
