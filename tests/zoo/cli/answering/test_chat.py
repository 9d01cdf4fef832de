"""`zoo chat`: earlier turns are the context, the oldest are left out, and lines may be piped in."""

import builtins
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import zoo
from zoo.cli.answering import chat
from zoo.cli.answering.chat import Conversation
from zoo.errors import InputError

Run = Callable[..., tuple[int, str, str]]


class Echo:
    """Stand for a pipeline: its tokens are letters, its answers are numbered and name what was read.

    Args:
        reads: what its model does with a text.
        max_len: of the model; None for no limit.
        steps: whether it generates token by token.
    """

    def __init__(self, reads: str = "source", max_len: int | None = None, steps: bool = True) -> None:
        config = {} if max_len is None else {"max_len": max_len}
        self.spec = SimpleNamespace(name="echo", reads=reads, config=config)
        self.model = SimpleNamespace(generate_steps=None) if steps else SimpleNamespace()
        self.read: list[str] = []

    def preprocess(self, texts: Sequence[str]) -> tuple[torch.Tensor]:
        return (torch.zeros(1, len(texts[0])),)

    def stream(self, text: str, **options: Any) -> Iterator[str]:
        self.read.append(text)
        yield from ("answer ", str(len(self.read)))

    def generate(self, texts: Sequence[str], **options: Any) -> Iterator[tuple[str, list[tuple[str, float]]]]:
        self.read.extend(texts)
        yield texts[0], [(f"answer {len(self.read)}", 0.0)]


def talk(echo: Any, *lines: str, history: int | None = None, **options: Any) -> list[int]:
    """Say lines, and give how many turns were left out each time."""
    conversation, left_out = Conversation(echo, options, history), []
    for line in lines:
        context, out = conversation.context(line)
        left_out.append(out)
        assert "".join(conversation.answer(context, line)) == f"answer {len(echo.read)}"
    return left_out


@pytest.mark.parametrize("steps", [True, False])
def test_a_model_reads_all_earlier_turns(steps: bool) -> None:
    echo = Echo(steps=steps)
    assert talk(echo, "one", "two", "three") == [0, 0, 0]
    assert echo.read == ["one", "one\nanswer 1\ntwo", "one\nanswer 1\ntwo\nanswer 2\nthree"]


@pytest.mark.parametrize(
    ("history", "last"), [(0, "three"), (1, "two\nanswer 2\nthree"), (3, "one\nanswer 1\ntwo\nanswer 2\nthree")]
)
def test_history_says_how_many_turns_are_read(history: int, last: str) -> None:
    echo = Echo()
    talk(echo, "one", "two", "three", history=history)
    assert echo.read[-1] == last


def test_the_oldest_turns_are_left_out_where_they_do_not_fit() -> None:
    echo = Echo(max_len=len("two\nanswer 2\nthree"))
    assert talk(echo, "one", "two", "three") == [0, 0, 1]
    assert echo.read[-1] == "two\nanswer 2\nthree"


def test_a_decoder_alone_has_room_for_the_answer_too() -> None:
    echo = Echo("prompt", max_len=24)
    assert talk(echo, "one", "two", max_len=4) == [0, 0]
    assert talk(echo, "one", "two", "three", max_len=4) == [0, 0, 1]
    assert talk(echo, "one", "two") == [0, 1]  # half of the places are for an answer without a bound


def test_what_does_not_fit_alone_is_refused_and_the_turns_stay() -> None:
    echo = Echo(max_len=20)
    conversation = Conversation(echo, {})  # type: ignore[arg-type]
    conversation.turns.append(("one", "answer"))
    with pytest.raises(InputError, match="30 tokens: 'echo' reads 20 at most"):
        conversation.context("x" * 30)
    assert conversation.turns == [("one", "answer")]


def test_a_text_that_the_model_refuses_counts_as_too_long() -> None:
    class Strict(Echo):
        def preprocess(self, texts: Sequence[str]) -> tuple[torch.Tensor]:
            if len(texts[0]) > 10:
                raise InputError("too long")
            return super().preprocess(texts)

    echo = Strict()
    assert talk(echo, "one", "two") == [0, 1]
    with pytest.raises(InputError, match="too long"):
        talk(echo, "x" * 11)


def test_piped_lines_are_answered_in_order_with_their_context(run: Run, writer: str) -> None:
    code, out, err = run("chat", writer, "--max-len", "4", piped=b"ab\n\ncd\n/quit\nef\n")
    assert (code, err) == (0, "")
    first, second = out.split("\n")[0], out
    assert second.startswith(run("generate", writer, "ab", "--max-len", "4")[1])
    model: Any = zoo.create(f"local-dir:{writer}").eval()
    read, said = zoo.preprocess(f"local-dir:{writer}"), zoo.postprocess(f"local-dir:{writer}")
    wanted = said(model.generate(*read([f"ab\n{first}\ncd"]), max_len=4))[0]
    assert out == f"{first}\n{wanted}\n"


def test_a_model_of_bytes_that_was_saved_alone_answers_as_with_its_tokenizer(run: Run, writer: str) -> None:
    asked = [("chat", writer, "--max-len", "4"), ("generate", writer, "--max-len", "4", "--beam", "2")]
    wanted = [run(*words, piped=b"ab\ncd\n") for words in asked]
    assert [code for code, *_ in wanted] == [0, 0]
    (Path(writer) / "tokenizer.json").unlink()
    assert [run(*words, piped=b"ab\ncd\n") for words in asked] == wanted


def test_commands_are_told_and_unknown_ones_named(run: Run, writer: str) -> None:
    _, fresh, _ = run("chat", writer, "--max-len", "4", piped=b"cd\n")
    code, out, err = run("chat", writer, "--max-len", "4", piped=b"ab\n/reset\ncd\n/help\n/leave\n")
    assert code == 0
    assert out.endswith(fresh)
    assert "/quit ends the conversation" in err
    assert "there is no command '/leave'" in err


def test_a_notice_says_what_is_left_out(run: Run, tmp_path: Path) -> None:
    torch.manual_seed(0)
    size: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16, "position": "learned", "max_len": 16}
    zoo.weights.save(zoo.create("transformer-tiny", **size), tmp_path / "short")
    read: Any = zoo.preprocess("transformer-tiny")
    read.tokenizer.save(tmp_path / "short" / "tokenizer.json")
    code, _, err = run("chat", str(tmp_path / "short"), "--max-len", "4", piped=b"abcdef\nghijklmno\n" + b"x" * 40)
    assert code == 0
    assert "the model reads without the 1 oldest turn, which no longer fit" in err
    assert "zoo: " in err.splitlines()[-1]
    assert "16" in err.splitlines()[-1]


def test_what_reads_no_typed_lines_is_refused(run: Run, tmp_path: Path) -> None:
    size: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
    zoo.weights.save(zoo.create("speech-translator-tiny", **size), tmp_path / "sounds")
    assert "which reads no typed lines: use zoo generate" in run("chat", str(tmp_path / "sounds"), piped=b"a")[2]
    zoo.weights.save(zoo.create("vit-micro", num_classes=2, **size), tmp_path / "pictures")
    assert "does not generate: use zoo predict" in run("chat", str(tmp_path / "pictures"), piped=b"a")[2]


def test_typed_lines_end_with_the_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = iter(["one", "two"])

    def typed(prompt: str) -> str:
        assert prompt == "> "
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr(builtins, "input", typed)
    assert list(chat._typed()) == ["one", "two"]
    assert "/quit ends the conversation" in capsys.readouterr().err
