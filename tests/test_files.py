"""Files are replaced all or not at all, whatever happens in between."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from imagepins import files
from imagepins.errors import UsageError
from imagepins.files import WriteFailed, exclusive, replace_all, shared

TOOLS = Path(__file__).parents[1] / "tools"


@pytest.fixture
def pins(tmp_path: Path) -> Path:
    """A pin file and two rendered files, all 'old'."""
    for name in ("pins.yaml", "images/a/Dockerfile", "images/b/Dockerfile"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("old\n")
    return tmp_path / "pins.yaml"


def three(pins: Path, text: str = "new\n") -> dict[Path, bytes]:
    names = ("pins.yaml", "images/a/Dockerfile", "images/b/Dockerfile")
    return {pins.parent / name: text.encode() for name in names}


def contents(pins: Path) -> set[str]:
    return {path.read_text() for path in three(pins)}


def everything_below(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if not path.is_dir()}


def test_all_files_are_replaced_and_nothing_else_is_left(pins: Path) -> None:
    with exclusive(pins):
        changed = replace_all(pins, three(pins))
    assert set(changed) == set(three(pins))
    assert contents(pins) == {"new\n"}
    assert everything_below(pins.parent) == {"pins.yaml", "images/a/Dockerfile", "images/b/Dockerfile"}


def test_files_that_are_right_already_are_not_touched(pins: Path) -> None:
    times = {path: path.stat().st_mtime_ns for path in three(pins)}
    with exclusive(pins):
        assert replace_all(pins, three(pins, "old\n")) == ()
    assert {path: path.stat().st_mtime_ns for path in three(pins)} == times


def test_mode_and_links_stay(pins: Path, tmp_path: Path) -> None:
    pins.chmod(0o640)
    target = tmp_path / "elsewhere"
    target.write_text("old\n")
    link = tmp_path / "images/a/Dockerfile"
    link.unlink()
    link.symlink_to(target)
    with exclusive(pins):
        replace_all(pins, three(pins))
    assert pins.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert target.read_text() == "new\n"


def test_new_file_gets_its_folder_and_the_usual_mode(pins: Path) -> None:
    made = pins.parent / "images/new/Dockerfile"
    with exclusive(pins):
        replace_all(pins, {made: b"x"})
    umask = os.umask(0)
    os.umask(umask)
    assert made.stat().st_mode & 0o777 == 0o666 & ~umask


def test_error_in_the_middle_puts_everything_back(pins: Path) -> None:
    blocked = pins.parent / "images/b/Dockerfile"
    blocked.unlink()
    blocked.mkdir()
    with exclusive(pins), pytest.raises(WriteFailed, match="no file was changed"):
        replace_all(pins, three(pins))
    assert pins.read_text() == "old\n"
    assert (pins.parent / "images/a/Dockerfile").read_text() == "old\n"
    assert everything_below(pins.parent) == {"pins.yaml", "images/a/Dockerfile"}


def test_full_disk_is_told_by_the_pin_file_and_leaves_nothing(pins: Path) -> None:
    # A limit on file sizes fails in the same call as a full disk does, and like it names no file.
    code = (
        "import resource, signal, sys; from pathlib import Path; from imagepins.files import exclusive, replace_all\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "with exclusive(Path(sys.argv[1])): replace_all(Path(sys.argv[1]), {Path(sys.argv[1]): b'new'})\n"
    )
    argv = [sys.executable, "-c", code, str(pins)]
    done = subprocess.run(argv, env={"PYTHONPATH": str(TOOLS)}, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith(f"cannot write {pins}: File too large; no file was changed")
    assert contents(pins) == {"old\n"}
    assert everything_below(pins.parent) == {"pins.yaml", "images/a/Dockerfile", "images/b/Dockerfile"}


def test_folder_that_takes_no_file_is_told_by_the_file_people_know(pins: Path) -> None:
    linked = pins.parent / "images/a/Dockerfile"
    linked.unlink()
    linked.symlink_to("/proc/version")
    with exclusive(pins), pytest.raises(WriteFailed, match=r"cannot write /proc/version: .*; no file was changed"):
        replace_all(pins, three(pins))
    assert pins.read_text() == "old\n"
    assert not (pins.parent / ".pins.yaml.journal").exists()


@pytest.mark.parametrize("failing", [1, 2, 3, 4])
def test_failure_of_any_single_replacement_puts_everything_back(
    pins: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    swap_in, count = files._swap_in, 0

    def failing_swap(target: Path) -> None:
        nonlocal count
        count += 1
        if count == failing:
            raise OSError(28, "No space left on device", str(target))
        swap_in(target)

    monkeypatch.setattr(files, "_swap_in", failing_swap)
    with exclusive(pins), pytest.raises(WriteFailed, match="No space left"):
        replace_all(pins, three(pins))
    assert contents(pins) == {"old\n"}
    assert everything_below(pins.parent) == {"pins.yaml", "images/a/Dockerfile", "images/b/Dockerfile"}


KILLED = """
import os, signal, sys
from pathlib import Path
from imagepins import files
pins, when = Path(sys.argv[1]), int(sys.argv[2])
count = 0
def counted(step):
    def run(*arguments):
        global count
        count += 1
        if count == when:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*arguments)
    return run
for name in ("_write_temporary", "_swap_in", "_remove"):
    setattr(files, name, counted(getattr(files, name)))
names = ("pins.yaml", "images/a/Dockerfile", "images/b/Dockerfile")
with files.exclusive(pins):
    files.replace_all(pins, {pins.parent / name: b"new\\n" for name in names})
"""


@pytest.mark.parametrize("step", range(1, 16))
def test_kill_at_any_step_leaves_old_or_new_for_the_next_run(pins: Path, step: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(pins), str(step)], env={"PYTHONPATH": str(TOOLS)}, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL)
    with shared(pins):
        assert len(contents(pins)) == 1
    if done.returncode:
        with exclusive(pins):
            replace_all(pins, three(pins, "newer\n"))
        assert contents(pins) == {"newer\n"}
    assert everything_below(pins.parent) == {"pins.yaml", "images/a/Dockerfile", "images/b/Dockerfile"}


@pytest.mark.parametrize("step", range(1, 24))
def test_kill_while_an_error_is_undone_leaves_old_or_new(pins: Path, step: int) -> None:
    """The third file cannot be replaced, and the run is killed somewhere before or while it puts the others back."""
    failing = (
        "swap = files._swap_in\n"
        "def fail(target):\n"
        "    if target.parent.name == 'b':\n"
        "        raise OSError(28, 'full', str(target))\n"
        "    swap(target)\n"
        "files._swap_in = fail\n"
    )
    code = KILLED.replace("count = 0\n", f"count = 0\n{failing}", 1)
    subprocess.run(
        [sys.executable, "-c", code, str(pins), str(step)],
        env={"PYTHONPATH": str(TOOLS)},
        check=False,
        stderr=subprocess.DEVNULL,
    )
    with shared(pins):
        assert len(contents(pins)) == 1
    with exclusive(pins):
        pass
    assert everything_below(pins.parent) == {"pins.yaml", "images/a/Dockerfile", "images/b/Dockerfile"}


def test_there_are_steps_on_both_sides_of_the_point_of_no_return(pins: Path) -> None:
    outcomes = set()
    for step in (2, 13):
        subprocess.run(
            [sys.executable, "-c", KILLED, str(pins), str(step)], env={"PYTHONPATH": str(TOOLS)}, check=False
        )
        with shared(pins):
            outcomes |= contents(pins)
    assert outcomes == {"old\n", "new\n"}


def _interrupted(pins: Path) -> Path:
    """Leave a journal as a run does that is killed before its first replacement."""
    changes = [files._change(path, new) for path, new in three(pins).items()]
    journal = pins.parent / ".pins.yaml.journal"
    files._write_journal(journal, "forward", changes)
    return journal


def test_edit_made_after_an_interrupted_write_is_left_alone(pins: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = _interrupted(pins)
    pins.write_text("mine\n")
    with exclusive(pins):
        pass
    assert pins.read_text() == "mine\n"
    assert (pins.parent / "images/a/Dockerfile").read_text() == "new\n"
    assert "left alone" in capsys.readouterr().err
    assert not journal.exists()


def test_journal_that_came_with_a_clone_is_never_replayed(pins: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine\n")
    entry = {"target": str(victim), "old": None, "new": "b3duZWQ="}
    record = {"home": "1:2", "direction": "forward", "entries": [entry]}
    (pins.parent / ".pins.yaml.journal").write_text(json.dumps(record))
    with pytest.raises(UsageError, match="not written by this tool"), exclusive(pins):
        pass
    assert victim.read_text() == "mine\n"


def test_damaged_journal_is_said_and_kept(pins: Path) -> None:
    journal = pins.parent / ".pins.yaml.journal"
    journal.write_text("{")
    with pytest.raises(UsageError, match="look at it and remove it"), shared(pins):
        pass
    assert journal.exists()


def test_second_run_waits_and_then_names_the_holder(pins: Path) -> None:
    locked = pytest.raises(UsageError, match=f"locked by process {os.getpid()}")
    with exclusive(pins), locked, exclusive(pins, timeout=0.2):
        pass


def test_readers_do_not_keep_one_another_out(pins: Path) -> None:
    with shared(pins), shared(pins, timeout=0.2):
        assert contents(pins) == {"old\n"}


def test_readers_keep_writers_out(pins: Path) -> None:
    with shared(pins), pytest.raises(UsageError, match="locked by"), exclusive(pins, timeout=0.2):
        pass


def test_lock_of_a_killed_run_is_free(pins: Path) -> None:
    code = "import sys,time; from pathlib import Path; from imagepins.files import exclusive\n"
    code += "with exclusive(Path(sys.argv[1])): print('locked', flush=True); time.sleep(100000)"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(pins)], env={"PYTHONPATH": str(TOOLS)}, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        holder.kill()
    with exclusive(pins, timeout=120):
        pass


def test_two_writers_lose_no_update(pins: Path) -> None:
    code = """
import sys
from pathlib import Path
from imagepins.files import exclusive, replace_all
pins = Path(sys.argv[1])
for _ in range(20):
    with exclusive(pins):
        replace_all(pins, {pins: pins.read_bytes() + sys.argv[2].encode() + b"\\n"})
"""
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(pins), name], env={"PYTHONPATH": str(TOOLS)})
        for name in ("one", "two")
    ]
    assert [each.wait(120) for each in running] == [0, 0]
    lines = pins.read_text().splitlines()
    assert (lines.count("one"), lines.count("two")) == (20, 20)


def test_readers_never_see_half_a_write(pins: Path) -> None:
    code = """
import sys
from pathlib import Path
from imagepins.files import exclusive, replace_all
pins = Path(sys.argv[1])
names = ("pins.yaml", "images/a/Dockerfile", "images/b/Dockerfile")
for number in range(40):
    with exclusive(pins):
        replace_all(pins, {pins.parent / name: str(number).encode() for name in names})
"""
    with subprocess.Popen([sys.executable, "-c", code, str(pins)], env={"PYTHONPATH": str(TOOLS)}) as writer:
        while writer.poll() is None:
            with shared(pins):
                assert len(contents(pins)) == 1
    assert contents(pins) == {"39"}
