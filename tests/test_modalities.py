"""No modality is named in `zoo/`: what is special about one is told by its plugin's specs."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1] / "zoo"
WORD = re.compile(r"(?<![a-z])(vision|images?|texts?|speech|audio|graphs?)(?![a-z])", re.IGNORECASE)
PLAIN = re.compile(r"(?<![a-z])texts?(?![a-z])", re.IGNORECASE)  # of identifiers: Python's word for a string
PLUGIN = re.compile(r"(?:zoo\.plugins\.|timm:)\w*")
ALLOWED = {
    "registry/discovery.py": "vision text speech graph zoo.plugins.",  # the built-in plugins
    "factory/hub_config.py": "timm: image",  # config.json as timm writes it: an architecture, and `image_size`
    "factory/keyword_aliases.py": "image",  # timm's `img_size` is `image_size`
    "factory/keywords.py": "text",  # a string where a number was expected
    "testing/joining.py": "image speech graph",  # names of models of each family, and a keyword of one
    "cli/arguments.py": "text texts",  # what a file given to --file holds
    "cli/answering/generate.py": "text",  # a key of the JSON that is printed
    "cli/answering/int8.py": "texts",  # what a file given to --file holds
    "cli/answering/answer_lines.py": "text",  # a format, and a column
    "cli/answering/predict.py": "text",  # a format
    "bench/speed/command.py": "text",  # --only matches a part of a name
    "bench/speed/backends.py": "graph",  # `Edges` is a graph, whatever is computed on it
    "bench/engine/edges.py": "graph",  # the same
    "data/tables/sources/hub.py": "image audio",  # the kinds of cells that `datasets` decodes
    "bench/data/images.py": "image images",  # data of each kind, read beside the libraries that read it
    "bench/data/texts.py": "text",
    "bench/export/families.py": "graph speech",  # names of models
    "answers.py": "text",  # a key of the JSON that is sent
    "pipeline.py": "texts",  # what inputs are called where no preprocessing says
    "bench/serve/subjects.py": "image texts",  # a type of files, and what is refused
    "serve/raw_inputs.py": "text",  # what inputs are that are no files
    "serve/request_body.py": "text",  # a type of bodies
    "serve/routes.py": "text",  # the same
    "serve/served_model.py": "text",  # a key of the JSON that is sent
    "serve/streaming.py": "text",  # the same
    "weights/card.py": "image text audio speech vision graph",  # the hub's names of tasks
    "deploy/programs.py": "graph vision",  # inputs whose names no stem tells
    "deploy/run.py": "graph image text",  # reads raw inputs of each kind without this library
    "deploy/write.py": "graph",  # ONNX's word for the operations of a program
    "bench/gpu/decoding.py": "graph",  # CUDA's word for recorded calls
    "data/tables/kinds.py": "image audio text",  # types of cells, in the words of `datasets`
    "data/tables/sources/webdataset.py": "text",  # an ending of files
    "bench/attention/labelled_texts.py": "text texts",  # data of the user that a study of sequences reads
    "bench/attention/own_data.py": "text",
    "bench/attention/study.py": "text",
    "bench/attention/text_file.py": "text",
    "plugin_check/records.py": "texts",  # fields that hold texts
    "testing/joined_laws.py": "graph graphs",  # encoders whose inputs are packed
    "testing/checks.py": "graph graphs",  # inputs and checks of models that read `edge_index`
    "testing/inputs.py": "graph graphs",
    "testing/graph_inputs.py": "graph graphs",
    "viz/attention_picture.py": "graph image",  # weights on edges are drawn as a graph; others may lie over a picture
    "viz/explorer/media.py": "graph image audio",  # what attention is laid over, told by the inputs; kinds of data URLs
    "viz/explorer/page.py": "image",  # a data URL
    "viz/explorer/pane.py": "graph",  # vectors without order
    "viz/graph_layout.py": "graph",
    "viz/graph_plot.py": "graph",
    "viz/heatmap.py": "image",  # matplotlib's word for an array that is drawn
    "bench/fine_tuning/study.py": "image",  # a keyword of the default model
    "evaluation/report/page.py": "audio graph text",  # elements and classes of HTML, and kinds of media
    "training/hugging_face.py": "images",  # the name of an input of models
    "evaluation/subject.py": "image",  # a keyword of models
    "evaluation/tasks/written.py": "speech text",  # extras to install
    "bench/learning_curve/command.py": "image images",  # --image-size and --augment of the study of data sizes
    "bench/learning_curve/config.py": "image images",
    "bench/learning_curve/plan.py": "image images",
    "bench/learning_curve/contestants/contestant.py": "image",
    "bench/learning_curve/repeat.py": "image",
    "bench/learning_curve/training/run.py": "image",
}


def named(source: str) -> set[str]:
    """Find the modalities and plugins that strings, parts of f-strings and identifiers name; docstrings are exempt."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings: list[str] = []
    identifiers: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            strings.append(node.value)
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            value = getattr(node, field, None)
            identifiers += [value] if isinstance(value, str) else []
    words = WORD.findall(" ".join(strings).replace("_", " "))
    words += WORD.findall(PLAIN.sub("", " ".join(identifiers).replace("_", " ")))
    return {word.lower() for word in words} | set(PLUGIN.findall(" ".join(strings + identifiers)))


def test_names_are_found_in_strings_and_imports_and_not_in_prose() -> None:
    assert named('"""Of vision."""\nif spec.modality == "vision":\n    pass') == {"vision"}
    assert named('from zoo.plugins.text import plugin\nf"timm:{name}"') == {"zoo.plugins.text", "timm:"}


def test_names_are_found_in_help_texts_and_identifiers() -> None:
    assert named('typer.Option(help="Texts, image or audio files.")') == {"texts", "image", "audio"}
    assert named('f"{n} graphs"') == {"graphs"}
    assert named("def is_speech_model(image_size): return spec.vision") == {"speech", "image", "vision"}
    assert named("text = path.read_text()") == set()


def test_no_modality_is_named_in_zoo() -> None:
    files = [path for part in sorted(ROOT.iterdir()) if not part.is_symlink() for path in sorted(part.rglob("*.py"))]
    files += sorted(ROOT.glob("*.py"))
    assert len(files) > 50
    found = {path.relative_to(ROOT).as_posix(): named(path.read_text()) for path in files}
    assert {path: names for path, names in found.items() if names} == {
        path: set(names.split()) for path, names in ALLOWED.items()
    }
