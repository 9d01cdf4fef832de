"""`PluginConformance`: the tests that every plugin passes, over every model it names.

class TestMine(PluginConformance):
    plugin = my_plugin
"""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from inspect import getattr_static
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from zoo import hookspecs
from zoo.errors import ConfigError
from zoo.factory import create
from zoo.names import check_legal
from zoo.plugin_check.listing_cost import HEAVY
from zoo.plugin_check.records import CLAIMS
from zoo.registry import entry_loading
from zoo.registry.discovery import given
from zoo.registry.lookup import Registry, using
from zoo.spec import ModelSpec

if TYPE_CHECKING:
    import torch

SLOW = ("test_export", "test_compile")
"""Marked `slow`."""
_DISCOVER = """
import sys
from zoo.registry.lookup import Registry
[spec.name for spec in Registry(plugins=[{module!r}], autoload=False).models]
print(*(name for name in {heavy!r} if name in sys.modules))
"""


class PluginConformance:
    """Subclass this, name the plugin, and pytest runs every check over every model."""

    plugin: Any
    """A module, its name, or an object with hook implementations."""
    small: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Model name to the keywords that make it small enough to run."""
    budget: ClassVar[int] = 2_000_000
    """Parameters above which a model without an entry in `small` is only built, on the meta device."""
    batch_size: ClassVar[int] = 3
    _registries: ClassVar[dict[type, tuple[Any, Registry]]] = {}
    """The plugin of each class, and the registry with it and the built-in patterns, made once for all tests."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run a test that takes a `name` for each model; one that takes a `runnable`, for each that is small."""
        specs = self._specs()
        if "name" in metafunc.fixturenames:
            metafunc.parametrize("name", [spec.name for spec in specs])
        if "runnable" in metafunc.fixturenames:
            marks = self._slow(metafunc.config) if metafunc.definition.originalname in SLOW else ()
            small = [spec.name for spec in specs if self._is_small(spec)]
            metafunc.parametrize("runnable", [pytest.param(name, marks=marks) for name in small])

    @pytest.fixture(autouse=True)
    def only_this_plugin(self, request: pytest.FixtureRequest) -> None:
        """Let the zoo see this plugin and the built-in patterns only."""
        # No yield: the run-time checks of types that may wrap this hide from pytest that it is a generator.
        stack = ExitStack()
        stack.enter_context(using(self._registry()))
        request.addfinalizer(stack.close)  # noqa: PT021

    @pytest.fixture
    def model(self, runnable: str) -> "torch.nn.Module":
        """Build the model, small, from a fixed seed."""
        import torch

        torch.manual_seed(0)
        return self._create(runnable)

    @pytest.fixture
    def inputs(self, runnable: str) -> tuple[Any, ...]:
        """Make the model's example inputs."""
        return self._inputs(runnable)

    def test_plugin_loads(self) -> None:
        """The registry takes the plugin: hooks are spelt well, records are whole, names are legal."""
        info = self._registry().plugins()[-1]
        assert info.status == "ok", f"plugin '{info.name}' {info.status}: {info.cause}\n{info.traceback}"

    def test_hooks_are_marked(self) -> None:
        """What is called like a hook is one, and what is marked as one is called so."""
        plugin = self._object()
        hooks = {name for name in vars(hookspecs) if name.startswith("zoo_")}
        for name in dir(plugin):
            found = getattr_static(plugin, name, None)
            marked = hasattr(found, "zoo_impl")
            assert marked or name not in hooks, f"{name} is not marked with @hookimpl"
            assert not marked or name in hooks, f"{name} is marked with @hookimpl, but there is no such hook"

    def test_discovery_imports_nothing_heavy(self) -> None:
        """Listing names imports neither torch nor what a model needs."""
        plugin = self._object()
        if not isinstance(plugin, ModuleType):
            pytest.skip("the plugin is an object, not a module that a new process can import")
        needed = {requirement.module for spec in self._specs() for requirement in spec.requires}
        script = _DISCOVER.format(module=plugin.__name__, heavy=sorted({*HEAVY, *needed}))
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        assert not done.stdout.split(), f"discovery imports {done.stdout.strip()}"

    def test_spec_is_json(self, name: str) -> None:
        """A configuration survives JSON; the name is legal; task and claims are known."""
        spec = create.info(name)
        check_legal(spec.name, "model")
        assert json.loads(json.dumps(spec.config)) == spec.config, "config holds something other than JSON values"
        assert spec.task in spec.tasks, f"task {spec.task!r} is not among tasks {spec.tasks}"
        assert set(spec.claims) <= set(CLAIMS), f"claims {spec.claims}; known are {CLAIMS}"

    def test_entries_resolve(self, name: str) -> None:
        """What the spec refers to can be imported."""
        spec = create.info(name)
        for entry in (spec.entry, spec.example, spec.preprocess, spec.postprocess, spec.convert, spec.export):
            assert entry is None or callable(entry_loading.load(spec, entry)), f"{entry} is not callable"

    def test_parameters_are_exact(self, name: str) -> None:
        """The declared number of parameters, if there is one, is the model's."""
        if create.info(name).parameters is None:
            pytest.skip("the spec declares no number of parameters")
        model: Any = create.create(name, device="meta")
        assert model.spec.parameters == create.info(name).parameters, f"parameters={model.spec.parameters} is the truth"

    def test_unknown_keyword_is_refused(self, name: str) -> None:
        """A keyword the model does not have is named."""
        with pytest.raises(ConfigError, match="surely_no_keyword"):
            create.create(name, device="meta", surely_no_keyword=1)

    def test_answer(self, runnable: str, model: Any, inputs: Any) -> None:
        """The answer has the right shape, is finite, and is the same when asked again."""
        spec = model.spec
        self._probes().check_answer(model, inputs, spec.task, spec.config.get("num_classes"), self.batch_size)

    def test_example_follows_its_seed(self, runnable: str, inputs: Any) -> None:
        """The same seed gives the same example."""
        import torch

        for left, right in zip(inputs, self._inputs(runnable), strict=True):
            if isinstance(left, torch.Tensor):  # NaN may stand for what is missing
                assert torch.equal(left.nan_to_num(), right.nan_to_num()), "the example ignores its seed"

    def test_preprocess(self, runnable: str) -> None:
        """There is something callable for training and for evaluation."""
        if create.info(runnable).preprocess is not None:
            assert all(callable(create.preprocess(runnable, train)) for train in (True, False))

    def test_weights_round_trip(self, runnable: str, model: Any, inputs: Any, tmp_path: Path) -> None:
        """A saved model is the same when loaded."""
        from zoo.weights.checkpoint import save

        again = self._create(runnable, weights=save(model, tmp_path))
        probes = self._probes()
        probes.same(probes.answer(again, inputs), probes.answer(model, inputs), "saved and loaded")

    def test_keys_are_stable(self, runnable: str, model: Any, inputs: Any) -> None:
        """The keys of the state dict are the same in every build, and after use."""
        keys = list(model.state_dict())
        assert list(self._create(runnable).state_dict()) == keys, "another build has other keys"
        self._probes().answer(model, inputs)
        assert list(model.state_dict()) == keys, "after use, the keys are others"

    def test_features(self, model: Any, inputs: Any) -> None:
        """The vectors before the head and between the blocks can be had."""
        self._probes().check_features(model, inputs)

    def test_attention_maps(self, model: Any, inputs: Any) -> None:
        """Rows of attention weights sum to 1, or to 0."""
        self._probes().check_attention_maps(model, inputs)

    def test_gradients(self, model: Any, inputs: Any) -> None:
        """Every parameter gets a gradient."""
        self._probes().check_gradients(model, inputs)

    def test_batch_mates(self, model: Any, inputs: Any) -> None:
        """An answer does not depend on the rest of the batch."""
        self._probes().check_batch_mates(model, inputs)

    def test_padding(self, model: Any, inputs: Any) -> None:
        """NaN in the padding does not leak."""
        self._probes().check_padding(model, inputs)

    def test_claims(self, model: Any, inputs: Any) -> None:
        """What claims to be causal or permutation-equivariant is."""
        checks: dict[str, Callable[[Any, Any], None]] = {
            "causal": self._probes().check_causal,
            "permutation-equivariant": self._probes().check_permutation,
        }
        for claim in model.spec.claims:
            checks[claim](model, inputs)

    def test_reset_classifier(self, model: Any, inputs: Any) -> None:
        """The classifier can be replaced, and left out."""
        if model.spec.task not in ("classify", "multi-label", "tag"):
            pytest.skip(f"task {model.spec.task!r} has no classifier")
        self._probes().check_classifier(model, inputs)

    def test_copies(self, model: Any, inputs: Any) -> None:
        """A deep copy and a pickled one answer alike."""
        self._probes().check_copies(model, inputs)

    def test_bfloat16(self, model: Any, inputs: Any) -> None:
        """The model runs in bfloat16."""
        self._probes().check_bfloat16(model, inputs)

    def test_export(self, model: Any, inputs: Any) -> None:
        """torch.export catches the model."""
        self._probes().check_export(model, inputs)

    def test_compile(self, model: Any, inputs: Any) -> None:
        """torch.compile changes no answer; it may cut the graph."""
        self._probes().check_compile(model, inputs)

    def _slow(self, config: pytest.Config) -> tuple[pytest.MarkDecorator, ...]:
        # Registered here, and no decorator above: a plugin's author has no configuration that knows the mark.
        config.addinivalue_line("markers", "slow: compiles or takes long; '-m \"not slow\"' leaves it out")
        return (pytest.mark.slow,)

    def _object(self) -> Any:
        return given(self.plugin).load()

    def _registry(self) -> Registry:
        plugin, registry = self._registries.get(type(self), (None, None))
        if registry is None or plugin is not self.plugin:
            registry = Registry(plugins=["zoo.registry.builtin", self.plugin], autoload=False)
            with warnings.catch_warnings():
                # test_plugin_loads says it better.
                warnings.simplefilter("ignore")
                registry.plugins()
            self._registries[type(self)] = self.plugin, registry
        return registry

    def _specs(self) -> list[ModelSpec]:
        own = given(self.plugin).name
        return [spec for spec in self._registry().models if spec.plugin == own]

    def _is_small(self, spec: ModelSpec) -> bool:
        return spec.name in self.small or (spec.parameters or 0) <= self.budget

    def _create(self, name: str, **keywords: Any) -> Any:
        return create.create(name, **{**self.small.get(name, {}), **keywords})

    def _inputs(self, name: str) -> tuple[Any, ...]:
        spec = create.info(name).with_config(**self.small.get(name, {}))
        return entry_loading.load(spec, spec.example)(spec.config, self.batch_size, 0)

    def _probes(self) -> Any:
        from zoo.testing import checks as probes

        return probes
