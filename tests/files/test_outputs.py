"""Files are refused before the work, and are whole or not there."""

import os

import pytest

from kernelcal.errors import InputError
from kernelcal.files import refuse_place, written_whole


def test_a_file_is_whole_or_not_there(tmp_path):
    place = tmp_path / "a.txt"
    with written_whole(place) as unfinished:
        unfinished.write_text("new")
        assert not place.exists()
    assert place.read_text() == "new"
    with pytest.raises(ZeroDivisionError), written_whole(place) as unfinished:
        unfinished.write_text("half" * (1 // 0))
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.txt", "new")]


def test_what_the_dead_have_left_is_cleared_and_what_the_living_write_is_not(tmp_path):
    (tmp_path / ".kernelcal.0123abcd.part").write_text("of a process that was killed")
    (tmp_path / ".kernelcal.part").write_text("of somebody else")
    with written_whole(tmp_path / "a.txt") as slow:
        slow.write_text("slow")
        with written_whole(tmp_path / "b.txt") as fast:
            fast.write_text("fast")
        assert slow.read_text() == "slow"
    texts = {p.name: p.read_text() for p in tmp_path.iterdir()}
    assert texts == {"a.txt": "slow", "b.txt": "fast", ".kernelcal.part": "of somebody else"}


def test_a_file_of_the_moment_before_its_lock_is_written_all_the_same(tmp_path, monkeypatch):
    from kernelcal.files import outputs

    def cleared(number, how, own=outputs.fcntl.flock):  # another process comes first
        next(tmp_path.glob(".kernelcal.*.part")).unlink()
        own(number, how)

    monkeypatch.setattr(outputs.fcntl, "flock", cleared)
    with written_whole(tmp_path / "a.txt") as unfinished:
        unfinished.write_text("new")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.txt", "new")]


def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    real, link = tmp_path / "deep" / "real.txt", tmp_path / "link.txt"
    real.parent.mkdir()
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    with written_whole(refuse_place(link)) as unfinished:
        unfinished.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640
    dangling = tmp_path / "dangling.txt"
    dangling.symlink_to(tmp_path / "deep" / "later.txt")
    with written_whole(refuse_place(dangling)) as unfinished:
        unfinished.write_text("there")
    assert (tmp_path / "deep" / "later.txt").read_text() == "there"


def test_errors_name_the_place_and_not_the_file_beside_it(tmp_path):
    place = tmp_path / "a.txt"
    with pytest.raises(FileNotFoundError, match=r"a\.txt'$"), written_whole(place):
        pass  # nothing was written


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".", r"\. is a folder: name a file in it, such as result\.npz"),
        ("missing/a.npz", "there is no folder missing: make it first, or name another"),
        ("a.csv", r"sums: its name ends in \.npz, got a\.csv"),
        ("pipe.npz", "is a device or a pipe, no file"),
        ("x" * 300 + ".npz", "cannot be written .*name too long.*: name another place"),
        ("nul\0.npz", "cannot be written .*null"),
        ("loop.npz", "is a link that leads to itself"),
        ("a.npz/b.npz", "there is no folder"),
        ("/proc/a.npz", "cannot be written"),
    ],
)
def test_what_is_refused(tmp_path, monkeypatch, name, text):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.npz")
    os.symlink("loop.npz", "loop.npz")
    (tmp_path / "a.npz").write_text("")
    before = sorted(os.listdir())
    with pytest.raises(InputError, match=text):
        refuse_place(name, suffixes=(".npz",), what="sums")
    assert sorted(os.listdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_what_may_not_be_changed(tmp_path):
    place = tmp_path / "a.txt"
    place.write_text("")
    place.chmod(0o400)
    with pytest.raises(InputError, match="may not be changed"):
        refuse_place(place)
