from pathlib import Path

from zoo.plugins.vision.data.folders.reading_notes import ReadingNotes


def test_notes_of_several_processes_are_told_once(tmp_path: Path) -> None:
    one, other = ReadingNotes(tmp_path / "new" / "notes"), ReadingNotes(tmp_path / "new" / "notes")
    for notes in (one, other, one):
        notes.unreadable("b.png", "cut off")
    other.unreadable("a.png", "cut off")
    one.constant("c.png")
    assert one.texts(9) == other.texts(9) == ReadingNotes(tmp_path / "new" / "notes").texts(9)
    assert one.texts(9) == (
        "2 unreadable images skipped so far: a.png, b.png",
        "1 of 9 files is constant, all pixels equal after reading: c.png",
    )


def test_half_a_line_is_passed_over(tmp_path: Path) -> None:
    notes = ReadingNotes(tmp_path / "notes")
    notes.unreadable("a.png", "cut off")
    with notes.file.open("a") as file:
        file.write('["b.p')
    assert ReadingNotes(tmp_path / "notes").texts(9) == ("1 unreadable image skipped so far: a.png",)


def test_where_nothing_can_be_written_a_process_knows_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    notes = ReadingNotes(tmp_path / "file" / "notes")
    notes.unreadable("a.png", "cut off")
    assert notes.texts(9) == ("1 unreadable image skipped so far: a.png",)


def test_nothing_found_is_nothing_told(tmp_path: Path) -> None:
    assert ReadingNotes(tmp_path / "notes").texts(9) == ()
