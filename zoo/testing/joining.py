"""`JoiningConformance`: the laws of joined models, over a grid of encoders and decoders.

class TestMine(JoiningConformance):
    plugin = my_plugin
    encoders = {"my-encoder-tiny": {}}
"""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest

from zoo.factory import create
from zoo.factory.join import join
from zoo.registry import entry_loading
from zoo.registry.lookup import Registry, using

BLOCKS = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
WORDS = {"vocab_size": 12}
ENCODERS: Mapping[str, Mapping[str, Any]] = {
    "vit-micro": {**BLOCKS, "image_size": 16},
    "resnet-micro": {"layers": [1], "channels": [8], "strides": [2], "stem": 4, "image_size": 8},
    "speech-micro": BLOCKS,
    "bert-micro": {**BLOCKS, **WORDS},
    "graph-tiny": BLOCKS,
    "conformer-micro": {"dim": 16, "depth": 1},
}
"""A model of each family of encoders, and the keywords that make it tiny."""
DECODERS: Mapping[str, Mapping[str, Any]] = {
    "decoder-tiny": {**BLOCKS, **WORDS},
    "transformer-tiny": {**BLOCKS, **WORDS},
    "rnn-tiny": {"dim": 16, **WORDS},
    "rnn-attention-tiny": {"dim": 16, **WORDS},
    "nat-base": {**BLOCKS, **WORDS, "length": "cut:0,24"},
    "speech-synthesis-tiny": {**BLOCKS, **WORDS, "bands": 8, "reduction": 2, "max_steps": 8},
}
"""A model of each family of decoders: without and with cross-attention of its own, recurrent, all places at once, and
frames of speech."""


class JoiningConformance:
    """Subclass this, name encoders or decoders, and pytest checks each pair of them."""

    plugin: Any = None
    """What brings them, besides what is installed: a module, its name, or an object with hook implementations."""
    encoders: ClassVar[Mapping[str, Mapping[str, Any]]] = ENCODERS
    """Name to the keywords that make it tiny."""
    decoders: ClassVar[Mapping[str, Mapping[str, Any]]] = DECODERS
    """The same."""
    batch_size: ClassVar[int] = 3
    _made: ClassVar[dict[str, Any]] = {}
    """The last pair and its model."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test for each pair."""
        if "pair" in metafunc.fixturenames:
            pairs = [(encoder, decoder) for encoder in self.encoders for decoder in self.decoders]
            metafunc.parametrize("pair", pairs, ids=["+".join(pair) for pair in pairs], scope="class")

    @pytest.fixture(autouse=True)
    def with_plugin(self, request: pytest.FixtureRequest) -> None:
        """Let the zoo see the plugin."""
        if self.plugin is not None:  # no yield, as in `PluginConformance`
            stack = ExitStack()
            stack.enter_context(using(Registry(plugins=[self.plugin])))
            request.addfinalizer(stack.close)  # noqa: PT021

    @pytest.fixture
    def model(self, pair: tuple[str, str]) -> Any:
        """Join the pair, once for all its tests, with gates that let the source in."""
        if self._made.get("pair") != pair:
            self._made.update(pair=pair, model=self._laws().opened(self._join(pair)))
        return self._made["model"]

    @pytest.fixture
    def inputs(self, model: Any) -> tuple[Any, ...]:
        """Make example inputs."""
        spec = model.spec
        made: tuple[Any, ...] = entry_loading.load(spec, spec.example)(spec.config, self.batch_size, 0)
        return made

    def test_answers(self, pair: tuple[str, str], model: Any, inputs: Any) -> None:
        """Rows do not know of each other, padding of the source does not leak, and the source is read."""
        laws = self._laws()
        laws.check_rows(model, inputs)
        laws.check_source_padding(model, inputs)
        laws.check_source_is_read(model, inputs)

    def test_gradients(self, pair: tuple[str, str], model: Any, inputs: Any) -> None:
        """A gradient reaches the encoder, the bridge and the decoder."""
        self._laws().check_gradients_reach_both(model, inputs)

    def test_writes(self, pair: tuple[str, str], model: Any, inputs: Any) -> None:
        """What is written is the same with a cache and without, in a batch and alone, and beams are scored right."""
        self._laws().check_writes(model, inputs)

    def test_zero_gate(self, pair: tuple[str, str], model: Any, inputs: Any) -> None:
        """A decoder that could not read before is unchanged at first."""
        if not any(name.startswith("decoder.") for name in model.new_parts):
            pytest.skip("the decoder has cross-attention of its own")
        alone = create.create(pair[1], **self.decoders[pair[1]])
        self._laws().check_zero_gate(model, alone, inputs)

    def test_saved(self, pair: tuple[str, str], model: Any, inputs: Any, tmp_path: Path) -> None:
        """A saved model is the same when its folder is read; its attention has weights to show."""
        from zoo.testing import checks
        from zoo.weights.checkpoint import save

        again = create.create(f"local-dir:{save(model, tmp_path)}")
        checks.same(checks.answer(again, inputs), checks.answer(model, inputs), "saved and loaded")
        checks.check_attention_maps(again, inputs)

    def _join(self, pair: tuple[str, str]) -> Any:
        import torch

        torch.manual_seed(0)
        encoder, decoder = pair
        return join(
            encoder, decoder, encoder_config=self.encoders[encoder], decoder_config=self.decoders[decoder]
        ).eval()

    def _laws(self) -> Any:
        from zoo.testing import joined_laws

        return joined_laws
