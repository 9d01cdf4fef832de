"""Run an exported model: `python run.py INPUT ...` prints a line of JSON for each input, without torch.

`python run.py --stream INPUT ...` reads sounds in chunks and prints a line whenever there are answers, where the model
streams. Text to speech writes spoken-1.wav, spoken-2.wav, … into the current folder, over those that are there.

Needs onnxruntime and numpy; Pillow for images, tokenizers for texts. An INPUT is a text, an image, a WAV file at the
model's rate, a line of JSON with a graph (x, edges, edge_attr), or a file .npz with the arrays of the program.

Axes: b rows, n tokens or frames, c channels.
"""

import json
import math
import re
import sys
import wave
from pathlib import Path
from typing import Any

try:
    import numpy as np
    import onnxruntime
except ImportError as error:
    if __name__ != "__main__":
        raise
    raise SystemExit(f"{error}; run.py needs numpy and onnxruntime: pip install numpy onnxruntime") from None

HERE = Path(__file__).resolve().parent
NEW_TOKENS = 64
"""At most, of a model that writes."""
BYTES = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}
"""Decoder of a tokenizer whose tokens are bytes."""
GRAPH = '{"x": a row for each node, "edges": [[source, target], …], "edge_attr": a row for each edge}'
"""Of the JSON of a graph, as `zoo predict` reads it."""
MANY = 2**62
"""Frames of a sound whose end is not known."""
ROUNDS, MOMENTUM, CORRECTIONS, SMALLEST = 60, 0.99 / 1.99, 20, 1e-10
"""Of Griffin and Lim's phases, and how often energies of frequencies are corrected, as the model's own does it."""


class Exported:
    """An exported model, as the file `export.json` beside this one describes it.

    Args:
        folder: of the files.
    """

    def __init__(self, folder: Path = HERE) -> None:
        self.folder = folder
        self.about: dict[str, Any] = json.loads((folder / "export.json").read_text(encoding="utf-8"))
        self.sessions: dict[str, Any] = {}
        self.spoken = 0

    def run(self, program: str, given: dict[str, Any]) -> dict[str, np.ndarray]:
        """Run a program; inputs by name, those that it does not read are left out."""
        about = self.about["programs"][program]
        if program not in self.sessions:
            self.sessions[program] = onnxruntime.InferenceSession(self.folder / about["file"])
        session = self.sessions[program]
        known = {one.name for one in session.get_inputs()}
        types = {one["name"]: one["dtype"] for one in about["inputs"]}
        if missing := sorted(known - given.keys()):
            raise SystemExit(f"the program {program} also reads {', '.join(missing)}: give a file .npz with all arrays")
        inputs = {name: np.asarray(x, dtype=types[name]) for name, x in given.items() if name in known}
        try:
            return dict(zip(about["outputs"], session.run(None, inputs), strict=True))
        except Exception as error:  # onnxruntime's have no class of their own
            sizes = ", ".join(f"{name} {x.shape}" for name, x in inputs.items())
            raise SystemExit(f"the program {program} cannot compute {sizes}: {error}") from None

    def answer(self, raw: str) -> Any:
        """Answer a raw input: labels with probabilities, a label or vector for each place, a text, or a sound."""
        about, arrays = self.about["input"], raw.endswith(".npz")
        given = dict(np.load(raw)) if arrays else READERS[about["kind"]](raw, about, self.folder)
        if "decode" in self.about["programs"]:
            return self.text(self.generate(given))
        if "speak" in self.about["programs"]:
            if not self.about["output"]:
                return self.speak(given).tolist()
            self.spoken += 1
            sound = sound_of(self.speak(given), self.about["output"])
            write_wav(f"spoken-{self.spoken}.wav", sound, self.about["output"]["rate"])
            seconds = round(len(sound) / self.about["output"]["rate"], 3)
            return {"file": f"spoken-{self.spoken}.wav", "seconds": seconds}
        if arrays:
            return {name: x.tolist() for name, x in self.run("model", given).items()}
        return self.readable(self.run("model", given)["answer"])

    def readable(self, scores: np.ndarray) -> Any:
        """Give the text of CTC logits, or what `labelled` gives."""
        if self.about["ctc"]:
            return self.text(collapsed(scores[0].argmax(-1), self.about["symbols"]["pad"]))
        return self.labelled(scores)

    def labelled(self, scores: np.ndarray) -> Any:
        """Give the probability of each label, the label of each place, or the numbers where there are no labels."""
        if self.about["task"] not in ("classify", "multi-label", "tag"):
            return scores.tolist()
        names = self.about["labels"] or [str(place) for place in range(scores.shape[-1])]
        if self.about["task"] == "tag":
            return [names[place] for place in scores.reshape(-1, scores.shape[-1]).argmax(-1)]
        if self.about["task"] == "multi-label":
            shares = 1 / (1 + np.exp(-scores[0].astype(np.float64)))
            return {
                name: round(float(share), 4) for share, name in sorted(zip(shares, names, strict=True), reverse=True)
            }
        shares = np.exp(scores[0] - scores[0].max())
        best = sorted(zip((shares / shares.sum()).tolist(), names, strict=True), reverse=True)[:5]
        return {name: round(share, 4) for share, name in best}

    def generate(self, given: dict[str, Any]) -> list[int]:
        """Write greedily behind a prompt, or from a source: the cache goes from call to call."""
        symbols, about = self.about["symbols"], self.about["programs"]["decode"]
        kept, read = {}, [int(one) for one in given["ids"][0]] if "ids" in given else []
        if "encode" in self.about["programs"]:
            kept, read = self.run("encode", given), [symbols["bos"]]
        if "places" in kept:  # all are written at once
            slots = np.ones((1, int(kept["places"][0])), bool)
            written = self.run("decode", {"slots": slots, **kept})["scores"][0].argmax(-1).tolist()
            return written[: written.index(symbols["eos"])] if symbols["eos"] in written else written
        names = [name.removeprefix("new_") for name in about["outputs"][1:]]
        shapes = {one["name"]: one["shape"] for one in about["inputs"]}
        kept |= {name: np.zeros([1, *(size or 0 for size in shapes[name][1:])]) for name in names if name not in kept}
        at_once = shapes["ids"][1] or len(read)  # a recurrent decoder reads one token at a time
        seen, written, most = 0, list[int](), min(NEW_TOKENS, (self.about["max_len"] or MANY) - len(read))
        while len(written) < most:
            ids, read = read[:at_once], read[at_once:]
            seen += len(ids)
            given = {"ids": [ids], "mask": np.ones((1, seen), bool), "position": [[seen - 1]]}
            scores, *new = self.run("decode", given | kept).values()
            kept |= dict(zip(names, new, strict=True))
            if not read:
                read = [int(scores[0].argmax())]
                if read[0] == symbols["eos"]:
                    break
                written += read
        return written

    def speak(self, given: dict[str, Any]) -> np.ndarray:
        """Write frames (n, bands) of log-mel energies, step by step, until the model says that the text ends."""
        kept, output = self.run("encode", given), self.about["output"]
        first, *inputs = self.about["programs"]["speak"]["inputs"]
        names = [name.removeprefix("new_") for name in self.about["programs"]["speak"]["outputs"][2:]]
        kept |= {one["name"]: np.zeros([1, 0, *one["shape"][2:]]) for one in inputs if one["name"] in names}
        frames, written = np.zeros([1, 1, *first["shape"][2:]]), list[np.ndarray]()
        while len(written) < self.about["max_steps"]:
            frames, ends, *new = self.run("speak", {"frames": frames, **kept}).values()
            kept |= dict(zip(names, new, strict=True))
            written.append(frames[0, 0])
            if ends[0, 0] > 0:
                break
        frames = np.concatenate(written)
        return frames * output["deviation"] + output["mean"] if output else frames

    def text(self, ids: list[int]) -> str:
        """Turn ids to text; without a tokenizer, to numbers."""
        path = self.folder / "tokenizer.json"
        if not path.exists():
            return " ".join(map(str, ids))
        from tokenizers import Tokenizer

        tokenizer: Any = Tokenizer.from_file(str(path))
        ids = [one for one in ids if one not in self.about["silent"]]  # what is unknown shows
        if json.loads(tokenizer.to_str())["decoder"] == BYTES:
            return text_of_bytes(ids, tokenizer)
        found: str = tokenizer.decode(ids, skip_special_tokens=False)
        return found


def text_of_bytes(ids: list[int], tokenizer: Any) -> str:
    """Join the bytes of tokens; the library makes all of a run unreadable that ends within a character."""
    tokens = [tokenizer.id_to_token(one) or "" for one in ids]
    parts = [bytes.fromhex(one[3:5]) if re.fullmatch("<0x[0-9A-F]{2}>", one) else one.encode() for one in tokens]
    return b"".join(parts).decode(errors="replace")


class SoundStream:
    """Answers a sound while it comes, by the program `step`, which takes chunks of one size and its own state.

    Args:
        exported: a model that streams.
    """

    def __init__(self, exported: Exported) -> None:
        self.exported, self.about = exported, exported.about["input"]
        inputs = exported.about["programs"]["step"]["inputs"]
        self.chunk: int = inputs[0]["shape"][1]
        self.state = {x["name"]: np.zeros([size or 1 for size in x["shape"]], x["dtype"]) for x in inputs[3:]}
        self.samples = np.zeros(0)
        self.frames = np.zeros((0, self.about["bands"]), np.float32)
        self.seen, self.given, self.count = 0, 0, 0

    def push(self, samples: np.ndarray, last: bool = False) -> np.ndarray:
        """Give the answers (m, d) that are there now; with `last` the rest."""
        self.samples = np.concatenate([self.samples, samples])
        if len(self.samples) >= self.about["length"]:
            new = log_mel(self.samples, self.about)
            self.samples = self.samples[len(new) * self.about["step"] :]
            self.frames = np.concatenate([self.frames, new])
        end, found = self.seen + len(self.frames) if last else MANY, []
        while len(self.frames) >= self.chunk or (last and (self.seen < end or self.given < self.count)):
            found.append(self._step(end))
        return np.concatenate(found) if found else np.zeros((0, 0), np.float32)

    def _step(self, end: int) -> np.ndarray:
        part, self.frames = self.frames[: self.chunk], self.frames[self.chunk :]
        part = np.pad(part, ((0, self.chunk - len(part)), (0, 0)))
        out = self.exported.run("step", {"features": part[None], "seen": self.seen, "end": end, **self.state})
        self.state = {name: out[f"new_{name}"] for name in self.state}
        self.seen += self.chunk
        first, self.count = int(out["position"]), int(out["count"])
        answers = out["answer"][0][max(0, -first) : max(0, self.count - first)]
        self.given += len(answers)
        return answers


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
    """Give samples (1, t) of a sound, and log-mel features (1, n, bands) of them."""
    sound = samples_of(raw, about)
    features = log_mel(sound, about)
    return {"features": [features], "lengths": [len(features)], "input_0": [sound], "input_1": [len(sound)]}


def samples_of(raw: str, about: dict[str, Any]) -> np.ndarray:
    """Give the samples (t) of a WAV file of 16 bits, in -1 … 1."""
    with wave.open(raw, "rb") as file:
        if file.getframerate() != about["rate"] or file.getsampwidth() != 2:
            raise SystemExit(f"{raw}: {file.getframerate()} Hz, {8 * file.getsampwidth()} bits: the model reads "
                             f"{about['rate']} Hz, 16 bits")  # fmt: skip
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, file.getnchannels())
    return samples.mean(1, dtype=np.float64) / 32768


def log_mel(sound: np.ndarray, about: dict[str, Any]) -> np.ndarray:
    """Give the logarithm of the energy in bands of equal width on the mel scale, as Kaldi computes it."""
    length, step = about["length"], about["step"]
    raised = np.concatenate([sound[:1], sound[1:] - about["emphasis"] * sound[:-1]])
    plain, raised = (np.lib.stride_tricks.sliding_window_view(x, length)[::step] for x in (sound, raised))
    window = np.hanning(length) ** 0.85
    centred = raised - (1 - about["emphasis"]) * plain.mean(1, keepdims=True)
    points = 1 << (length - 1).bit_length()
    power = np.abs(np.fft.rfft(centred * window, n=points)) ** 2
    banks = mel_banks(about)
    return np.log(np.maximum(power @ banks, np.finfo(np.float32).eps)).astype(np.float32)


def mel_banks(about: dict[str, Any]) -> np.ndarray:
    """Give the weight of each frequency in each band (f, bands)."""
    points, bands, rate = 1 << (about["length"] - 1).bit_length(), about["bands"], about["rate"]
    low, high = (1127 * math.log(1 + hertz / 700) for hertz in (about["lowest"], rate / 2))
    hertz = np.arange(points // 2 + 1) * (rate / points)
    place = (1127 * np.log(1 + hertz / 700) - low) / ((high - low) / (bands + 1))
    return np.maximum(0, 1 - np.abs(place[:, None] - np.arange(1, bands + 1))) * (hertz < rate / 2)[:, None]


def sound_of(frames: np.ndarray, about: dict[str, Any]) -> np.ndarray:
    """Give samples (t) in -1 … 1 whose log-mel energies are about these: Griffin and Lim 1984, with momentum."""
    frames = np.concatenate([frames, frames[-1:]]) if len(frames) < 2 else frames  # two or more make a sound
    step, padding = about["step"], (1 << (about["length"] - 1).bit_length()) - about["length"]
    window = np.pad(np.hanning(about["length"]) ** 0.85, (padding // 2, padding - padding // 2))
    middle = len(window) // 2
    banks, energies = mel_banks(about), np.exp(frames.astype(np.float64))
    weight = np.maximum(banks.sum(1), SMALLEST)
    power = energies @ banks.T / weight
    for _ in range(CORRECTIONS):
        power *= (energies / np.maximum(power @ banks, SMALLEST)) @ banks.T / weight

    def added(parts: np.ndarray) -> np.ndarray:
        whole = np.zeros(step * (len(parts) - 1) + len(window))
        for place, part in enumerate(parts):
            whole[place * step : place * step + len(window)] += part
        return whole[middle:-middle]

    share = added(np.broadcast_to(window**2, (len(frames), len(window))))

    def samples(phases: np.ndarray | float) -> np.ndarray:
        return added(np.fft.irfft(np.sqrt(power) * phases, len(window)) * window) / share

    phases, before = np.ones_like(power, dtype=complex), np.zeros_like(power, dtype=complex)
    for _ in range(ROUNDS):
        whole = np.pad(samples(phases), middle, mode="reflect")
        rebuilt = np.fft.rfft(np.lib.stride_tricks.sliding_window_view(whole, len(window))[::step] * window)
        turned, before = rebuilt - MOMENTUM * before, rebuilt
        phases = turned / (np.abs(turned) + 1e-16)
    sound = samples(phases)
    for place in range(1, len(sound)):
        sound[place] += about["emphasis"] * sound[place - 1]
    return np.clip(sound, -1, 1)


def write_wav(path: str, sound: np.ndarray, rate: int) -> None:
    """Write samples in -1 … 1 as a WAV file of 16 bits."""
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((sound * 32767).round().astype("<i2").tobytes())


def read_graph(raw: str, about: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Give the tensors of one graph, with the edges that are read; `edges` are pairs, `edge_index` two rows."""
    try:
        x, index, attr = graph_of(json.loads(raw))
    except (ValueError, OverflowError) as error:
        known = "" if isinstance(error, json.JSONDecodeError) else f"{error}; "
        raise SystemExit(f"{raw!r}: {known}this model reads lines of JSON, {GRAPH}") from None
    index = before = index[::-1] if about["direction"] == "backward" else index
    if about["direction"] == "both":
        given = set(map(tuple, index.T.tolist()))
        more = [pair[::-1] for pair in map(tuple, index.T.tolist()) if pair[::-1] not in given]
        index = np.concatenate([index, np.array(more, int).reshape(-1, 2).T], 1)
    if about["self_loops"] in ("remove", "replace"):
        index = index[:, index[0] != index[1]]
    if about["self_loops"] in ("add", "replace"):
        new = np.setdiff1d(np.arange(len(x)), index[0, index[0] == index[1]])
        index = np.concatenate([index, np.stack([new, new])], 1)
    if attr is not None and not np.array_equal(index, before):
        raise SystemExit("the model reads other edges than those that have features: give a file .npz with all of them")
    given_inputs = {"x": x, "edge_index": index, "batch": np.zeros(len(x), int)}
    return given_inputs if attr is None else {**given_inputs, "edge_attr": attr}


def graph_of(line: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Give nodes, ends and edges' features of a graph as it is written; a key that is null is not there.

    Raises:
        ValueError: If something is wrong, which the text names.
    """
    graph = {key: value for key, value in line.items() if value is not None} if isinstance(line, dict) else {}
    key, form = ("edges", "[[source, target], …]") if "edges" in graph else ("edge_index", "[[source, …], [target, …]]")
    if key not in graph:
        raise ValueError("it has no edges")
    index = ends_of(graph[key], key, form)
    x, attr = (features_of(graph[name], name) if name in graph else None for name in ("x", "edge_attr"))
    counted = len(x) if x is not None else max(0, int(index.max()) + 1) if index.size else 0
    nodes = graph.get("nodes", counted)
    if type(nodes) is not int or not 0 < nodes < 2**31:
        raise ValueError(f"nodes={nodes!r} is no number of nodes" if "nodes" in graph else "it has no nodes")
    if x is not None and nodes != counted:
        raise ValueError(f"nodes={nodes}, and x has {counted} rows: give one for each node")
    if index.size and not 0 <= index.min() <= index.max() < nodes:
        lost = next(pair for pair in index.T.tolist() if not 0 <= min(pair) <= max(pair) < nodes)
        raise ValueError(f"{key} joins {lost}, and there are {nodes} nodes, 0 … {nodes - 1}")
    if attr is not None and len(attr) != index.shape[1]:
        raise ValueError(f"edge_attr has {len(attr)} rows for {index.shape[1]} edges: give one for each")
    return np.zeros((nodes, 0)) if x is None else x, index, attr


def ends_of(rows: Any, key: str, form: str) -> np.ndarray:
    """Give the ends of edges as two rows.

    Raises:
        ValueError: If they are not of that form, or no whole numbers.
    """
    if rows in ([], [[], []]):
        return np.zeros((2, 0), int)
    table = np.asarray(rows)
    table = table if key == "edge_index" else table.T
    if table.ndim != 2 or len(table) != 2:
        shape = np.shape(rows)
        hint = ": transpose them" if table.ndim == 2 and table.shape[1] == 2 else ""
        raise ValueError(f"{key} of shape {shape} are not {form}{hint}" if shape else f"{key}={rows!r} are not {form}")
    odd = next((end for row in rows for end in row if type(end) is not int), None)
    if odd is not None:
        raise ValueError(f"{key} name {odd!r}, and nodes are whole numbers 0, 1, …")
    return np.asarray(table, int)


def features_of(rows: Any, key: str) -> np.ndarray:
    """Give features as a table of finite numbers.

    Raises:
        ValueError: If they are none.
    """
    table = np.asarray(rows)
    if table.dtype.kind not in "iuf" or not table.ndim or not np.isfinite(table).all():
        raise ValueError(f"{key}={rows!r} is no table of finite numbers: give a row for each node or edge")
    return table[:, None] if table.ndim == 1 else table


def read_tensors(raw: str, about: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Refuse what is no file of arrays."""
    raise SystemExit(f"{raw!r}: this model reads arrays by name; write them to a file .npz")


READERS = {"text": read_text, "image": read_image, "sound": read_sound, "graph": read_graph, "tensors": read_tensors}


def collapsed(best: np.ndarray, blank: int) -> list[int]:
    """Leave out repetitions, then blanks."""
    kept = [int(one) for place, one in enumerate(best) if place == 0 or one != best[place - 1]]
    return [one for one in kept if one != blank]


def streamed(exported: Exported, raw: str) -> None:
    """Print the answers to a sound so far, whenever there are new ones, chunk by chunk."""
    if "step" not in exported.about["programs"]:
        raise SystemExit(f"{exported.about['model']} does not stream: its folder holds no program step")
    stream, sound, answers = SoundStream(exported), samples_of(raw, exported.about["input"]), list[np.ndarray]()
    size = stream.chunk * stream.about["step"]
    for begin in range(0, len(sound), size):
        new = stream.push(sound[begin : begin + size], last=begin + size >= len(sound))
        answers += [new] * bool(len(new))
        if len(new):
            said = {"input": raw, "seconds": begin / stream.about["rate"]}
            print(json.dumps({**said, "answer": exported.readable(np.concatenate(answers)[None])}, ensure_ascii=False))


def main() -> None:
    """Answer each argument; those that cannot be answered are told, and the exit code is 1 then."""
    arguments = [one for one in sys.argv[1:] if one != "--stream"]
    if not arguments:
        raise SystemExit(__doc__)
    exported, code = Exported(), 0
    for raw in arguments:
        try:
            if "--stream" in sys.argv:
                streamed(exported, raw)
            else:
                print(json.dumps({"input": raw, "answer": exported.answer(raw)}, ensure_ascii=False), flush=True)
        except SystemExit as error:
            code = 1
            print(error, file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
