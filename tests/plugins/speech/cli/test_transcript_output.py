"""What is told of a transcript that grows: text, lines with times, JSON; on a terminal and through a pipe."""

import pytest

from zoo.plugins.speech.cli.transcript_output import JsonOutput, TextOutput, TimedOutput, TranscriptOutput
from zoo.plugins.speech.cli.word_timestamps import PartialTranscript, Word

ONE, MORE, TWO = Word("sev", 40, 80), Word("seven", 40, 160), Word("two", 200, 280)
STEPS = (
    PartialTranscript("sev", (), ONE),
    PartialTranscript("", (), ONE),
    PartialTranscript("en", (), MORE),
    PartialTranscript(" two", (MORE,), TWO),
    PartialTranscript("", (TWO,)),
)


def told(output: TranscriptOutput, capsys: pytest.CaptureFixture[str]) -> list[str]:
    steps = []
    for said in STEPS:
        output.write(said)
        steps.append(capsys.readouterr().out)
    output.end()
    return [*steps, capsys.readouterr().out]


def test_text_is_told_as_it_is_spelled(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(TextOutput(), capsys) == ["sev", "", "en", " two", "", "\n"]


def test_through_a_pipe_words_are_told_when_they_are_complete(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(TimedOutput(overwrite=False), capsys) == ["", "", "", "0.04\t0.16\tseven\n", "0.20\t0.28\ttwo\n", ""]


def test_a_terminal_shows_how_a_word_grows(capsys: pytest.CaptureFixture[str]) -> None:
    found = told(TimedOutput(overwrite=True), capsys)
    assert found == [
        "0.04\t0.08\tsev",
        "",
        "\r\x1b[K0.04\t0.16\tseven",
        "\r\x1b[K0.04\t0.16\tseven\n0.20\t0.28\ttwo",
        "\r\x1b[K0.20\t0.28\ttwo\n",
        "",
    ]


def test_json_is_a_line_for_each_word(capsys: pytest.CaptureFixture[str]) -> None:
    first = '{"word": "seven", "start_ms": 40, "end_ms": 160}\n'
    second = '{"word": "two", "start_ms": 200, "end_ms": 280}\n'
    assert told(JsonOutput(), capsys) == ["", "", "", first, second, ""]
