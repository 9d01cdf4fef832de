import gc
import pickle

from zoo.data import Skipped
from zoo.plugins.caption.data.skip_log import SkipLog


def tell(log: SkipLog, name: str) -> None:
    log.add(Skipped(name, "cut off"))


def test_what_other_processes_skip_is_known_here_and_each_example_once() -> None:
    log = SkipLog()
    tell(log, "here")
    for name in ("there", "here", "elsewhere"):
        there: SkipLog = pickle.loads(pickle.dumps(log))  # as a process gets it
        tell(there, name)
        tell(there, name)
    assert len(log.path.read_text().splitlines()) == 3  # a copy knows what was told before
    assert [(each.name, each.why) for each in log.found()] == [
        (name, "cut off") for name in ("elsewhere", "here", "there")
    ]


def test_a_copy_writes_into_the_same_file_which_goes_with_the_first() -> None:
    log = SkipLog()
    copy: SkipLog = pickle.loads(pickle.dumps(log))
    tell(copy, "one")
    assert [each.name for each in log.found()] == ["one"]
    path = log.path
    del copy
    gc.collect()
    assert path.exists()
    late: SkipLog = pickle.loads(pickle.dumps(log))
    del log
    gc.collect()
    assert not path.exists()
    tell(late, "two")
