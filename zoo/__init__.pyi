"""Public names of the zoo: the only list, which `zoo.core.lazy_exports.attach` reads at run time."""

from zoo import (
    bench as bench,
    cli as cli,
    core as core,
    data as data,
    deploy as deploy,
    pipeline as pipeline,
    registry as registry,
    testing as testing,
    training as training,
    weights as weights,
)
from zoo.core import quantize as quantize
from zoo.deploy.api import export as export
from zoo.errors import (
    AmbiguousNameError as AmbiguousNameError,
    ConfigError as ConfigError,
    DataError as DataError,
    ExportError as ExportError,
    InputError as InputError,
    MissingLibraryError as MissingLibraryError,
    PluginError as PluginError,
    UnknownModelError as UnknownModelError,
    UnknownSourceError as UnknownSourceError,
    WeightsError as WeightsError,
    ZooError as ZooError,
)
from zoo.evaluation.api import evaluate as evaluate
from zoo.factory.create import (
    create as create,
    create_model as create_model,
    example as example,
    info as info,
    list_models as list_models,
    plugins as plugins,
    postprocess as postprocess,
    preprocess as preprocess,
)
from zoo.factory.join import join as join
from zoo.factory.pretrained import from_pretrained as from_pretrained
from zoo.hookspecs import ZOO_PLUGIN_API as ZOO_PLUGIN_API, hookimpl as hookimpl
from zoo.pipeline import Pipeline as Pipeline
from zoo.registry.lookup import Registry as Registry
from zoo.spec import (
    AttentionSpec as AttentionSpec,
    ComparisonSpec as ComparisonSpec,
    Kind as Kind,
    ModelSpec as ModelSpec,
    PluginInfo as PluginInfo,
    Reads as Reads,
    Requirement as Requirement,
    SourceSpec as SourceSpec,
    StudySpec as StudySpec,
    SuiteSpec as SuiteSpec,
)
from zoo.training.api import train as train
from zoo.training.hugging_face import hf as hf
from zoo.version import __version__ as __version__
