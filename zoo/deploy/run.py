"""Run an exported model: `python run.py INPUT ...` prints a line of JSON for each input, without torch.

Needs onnxruntime and numpy; Pillow for images, tokenizers for texts. An INPUT is a text, an image, a WAV file at the
model's rate, a line of JSON with a graph (x, edge_index, edge_attr), or a file .npz with the arrays of the program.

Axes: b rows, n tokens or frames, c channels.
"""

import json
import math
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

HERE = Path(__file__).resolve().parent
NEW_TOKENS = 64
"""At most, of a model that writes."""


class Exported:
    """An exported model, as the file `export.json` beside this one describes it.

    Args:
        folder: of the files.
    """

    def __init__(self, folder: Path = HERE) -> None:
        self.folder = folder
        self.about: dict[str, Any] = json.loads((folder / "export.json").read_text(encoding="utf-8"))
        self.sessions: dict[str, Any] = {}

    def run(self, program: str, given: dict[str, Any]) -> dict[str, np.ndarray]:
        """Run a program; inputs by name, those that it does not read are left out."""
        about = self.about["programs"][program]
        if program not in self.sessions:
            self.sessions[program] = onnxruntime.InferenceSession(self.folder / about["file"])
        session = self.sessions[program]
        known = {one.name for one in session.get_inputs()}
        types = {one["name"]: one["dtype"] for one in about["inputs"]}
        inputs = {name: np.asarray(x, dtype=types[name]) for name, x in given.items() if name in known}
        return dict(zip(about["outputs"], session.run(None, inputs), strict=True))

    def answer(self, raw: str) -> Any:
        """Answer a raw input: labels with probabilities, a label or vector for each place, or a text."""
        if raw.endswith(".npz"):
            return {name: x.tolist() for name, x in self.run("model", dict(np.load(raw))).items()}
        given = READERS[self.about["input"]["kind"]](raw, self.about["input"], self.folder)
        if "decode" in self.about["programs"]:
            return self.text(self.generate(given))
        scores = self.run("model", given)["answer"]
        if self.about["ctc"]:
            return self.text(collapsed(scores[0].argmax(-1), self.about["symbols"]["pad"]))
        return self.labelled(scores)

    def labelled(self, scores: np.ndarray) -> Any:
        """Give the probability of each label, the label of each place, or the numbers where there are no labels."""
        if self.about["task"] not in ("classify", "tag"):
            return scores.tolist()
        names = self.about["labels"] or [str(place) for place in range(scores.shape[-1])]
        if self.about["task"] == "tag":
            return [names[place] for place in scores.reshape(-1, scores.shape[-1]).argmax(-1)]
        shares = np.exp(scores[0] - scores[0].max())
        best = sorted(zip((shares / shares.sum()).tolist(), names, strict=True), reverse=True)[:5]
        return {name: round(share, 4) for share, name in best}

    def generate(self, given: dict[str, Any]) -> list[int]:
        """Write greedily behind a prompt, or from a source: the cache goes from call to call."""
        symbols, about = self.about["symbols"], self.about["programs"]["decode"]
        kept = {}
        if "encode" in self.about["programs"]:
            kept = self.run("encode", given)
            given = {"ids": [[symbols["bos"]]]}
        ids, names = given["ids"], [name.removeprefix("new_") for name in about["outputs"][1:]]
        shapes = {one["name"]: one["shape"] for one in about["inputs"]}
        cache = {name: np.zeros((1, 0, *shapes[name][2:]), np.float32) for name in names}
        read, written = len(ids[0]), list[int]()
        most = min(NEW_TOKENS, (self.about["max_len"] or read + NEW_TOKENS) - read)
        while len(written) < most:
            mask = np.ones((1, read + len(written)), bool)
            scores, *new = self.run("decode", {"ids": ids, "mask": mask, **cache, **kept}).values()
            token = int(scores[0].argmax())
            if token == symbols["eos"]:
                break
            written.append(token)
            ids, cache = [[token]], dict(zip(names, new, strict=True))
        return written

    def text(self, ids: list[int]) -> str:
        """Turn ids to text; without a tokenizer, to numbers."""
        path = self.folder / "tokenizer.json"
        if not path.exists():
            return " ".join(map(str, ids))
        from tokenizers import Tokenizer

        found: str = Tokenizer.from_file(str(path)).decode(ids)
        return found


def read_text(raw: str, about: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Give ids, and how many there are."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.encode_special_tokens = True  # what looks like a symbol in a text is text
    ids = [*about["before"], *tokenizer.encode(raw, add_special_tokens=False).ids, *about["behind"]] or about["empty"]
    ids = ids[: about["max_len"]]
    return {"ids": [ids], "valid": [len(ids)]}


def read_image(raw: str, about: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Give pixels (1, c, height, width): the shorter side resized, the middle cut out, then normed."""
    from PIL import Image, ImageOps

    image: Any = ImageOps.exif_transpose(Image.open(raw)).convert(about["mode"])
    _, height, width = about["input_size"]
    shorter = math.floor(min(height, width) / about["crop_pct"])
    scale = shorter / min(image.size)
    size = [shorter if side == min(image.size) else int(side * scale) for side in image.size]
    image = image.resize(size, getattr(Image.Resampling, about["interpolation"].upper()))
    left, top = (round((side - wanted) / 2) for side, wanted in zip(image.size, (width, height), strict=True))
    pixels = np.asarray(image.crop((left, top, left + width, top + height)), np.float32) / 255
    pixels = pixels.reshape(height, width, -1)
    normed = (pixels - np.float32(about["mean"])) / np.float32(about["std"])
    return {"pixels": normed.transpose(2, 0, 1)[None]}


def read_sound(raw: str, about: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Give samples (1, t) of a WAV file of 16 bits, and log-mel features (1, n, bands) of them."""
    with wave.open(raw, "rb") as file:
        if file.getframerate() != about["rate"] or file.getsampwidth() != 2:
            raise SystemExit(f"{raw}: {file.getframerate()} Hz, {8 * file.getsampwidth()} bits: the model reads "
                             f"{about['rate']} Hz, 16 bits")  # fmt: skip
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, file.getnchannels())
    sound = samples.mean(1, dtype=np.float64) / 32768
    features = log_mel(sound, about)
    return {"features": [features], "lengths": [len(features)], "input_0": [sound], "input_1": [len(sound)]}


def log_mel(sound: np.ndarray, about: dict[str, Any]) -> np.ndarray:
    """Give the logarithm of the energy in bands of equal width on the mel scale, as Kaldi computes it."""
    length, step, bands, rate = (about[name] for name in ("length", "step", "bands", "rate"))
    raised = np.concatenate([sound[:1], sound[1:] - about["emphasis"] * sound[:-1]])
    plain, raised = (np.lib.stride_tricks.sliding_window_view(x, length)[::step] for x in (sound, raised))
    window = np.hanning(length) ** 0.85
    centred = raised - (1 - about["emphasis"]) * plain.mean(1, keepdims=True)
    points = 1 << (length - 1).bit_length()
    power = np.abs(np.fft.rfft(centred * window, n=points)) ** 2
    low, high = (1127 * math.log(1 + hertz / 700) for hertz in (about["lowest"], rate / 2))
    hertz = np.arange(points // 2 + 1) * (rate / points)
    place = (1127 * np.log(1 + hertz / 700) - low) / ((high - low) / (bands + 1))
    banks = np.maximum(0, 1 - np.abs(place[:, None] - np.arange(1, bands + 1))) * (hertz < rate / 2)[:, None]
    return np.log(np.maximum(power @ banks, np.finfo(np.float32).eps)).astype(np.float32)


def read_graph(raw: str, about: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Give the tensors of one graph, with the edges that are read."""
    graph = json.loads(raw)
    x, index = np.asarray(graph["x"]), np.asarray(graph["edge_index"]).reshape(2, -1)
    if about["direction"] == "backward":
        index = index[::-1]
    if about["direction"] == "both":
        given = set(map(tuple, index.T.tolist()))
        more = [pair[::-1] for pair in map(tuple, index.T.tolist()) if pair[::-1] not in given]
        index = np.concatenate([index, np.array(more, int).reshape(-1, 2).T], 1)
    if about["self_loops"] in ("remove", "replace"):
        index = index[:, index[0] != index[1]]
    if about["self_loops"] in ("add", "replace"):
        new = np.setdiff1d(np.arange(len(x)), index[0, index[0] == index[1]])
        index = np.concatenate([index, np.stack([new, new])], 1)
    attr = graph.get("edge_attr")
    if attr is not None and len(attr) != index.shape[1]:
        raise SystemExit("the model reads other edges than those that have features: give a file .npz with all of them")
    given_inputs = {"x": x, "edge_index": index, "batch": np.zeros(len(x), int)}
    return given_inputs if attr is None else {**given_inputs, "edge_attr": attr}


def read_tensors(raw: str, about: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Refuse what is no file of arrays."""
    raise SystemExit(f"{raw!r}: this model reads arrays by name; write them to a file .npz")


READERS = {"text": read_text, "image": read_image, "sound": read_sound, "graph": read_graph, "tensors": read_tensors}


def collapsed(best: np.ndarray, blank: int) -> list[int]:
    """Leave out repetitions, then blanks."""
    kept = [int(one) for place, one in enumerate(best) if place == 0 or one != best[place - 1]]
    return [one for one in kept if one != blank]


def main() -> None:
    """Answer each argument."""
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    exported = Exported()
    for raw in sys.argv[1:]:
        print(json.dumps({"input": raw, "answer": exported.answer(raw)}, ensure_ascii=False))


if __name__ == "__main__":
    main()
