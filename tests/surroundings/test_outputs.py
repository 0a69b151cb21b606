"""Files are refused before the work, and are whole or not there."""

import os

import pytest

from kernelcal.errors import InputError
from kernelcal.surroundings import refuse_place, written_whole


def test_a_file_is_whole_or_not_there(tmp_path):
    place = tmp_path / "a.txt"
    with written_whole(place) as unfinished:
        unfinished.write_text("new")
        assert not place.exists()
    assert place.read_text() == "new"
    with pytest.raises(ZeroDivisionError), written_whole(place) as unfinished:
        unfinished.write_text("half" * (1 // 0))
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
