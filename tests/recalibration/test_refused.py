"""Files that hold no map: damaged, altered and foreign ones are refused, with what to do."""

import json

import numpy as np
import pytest

from kernelcal.errors import InputError
from kernelcal.recalibration import Recalibration, recalibrate


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=40)
    place = tmp_path_factory.mktemp("maps") / "map.json"
    recalibrate(rng.random(40) < p, p, test=False).save(place)
    return place.read_text(encoding="utf-8")


def loaded(text, folder):
    (folder / "map.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    return Recalibration.load(folder / "map.json")


def test_what_was_saved_is_read(saved, tmp_path):
    assert loaded(saved, tmp_path).share_seen(np.full(3, 0.5)) == 0


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"[]", b"3", b"{}", b"[" * 100_000])
def test_files_that_hold_no_map(text, tmp_path):
    with pytest.raises(InputError, match=r"is no map of kernelcal, or it is damaged .*: name the file that a map was"):
        loaded(text, tmp_path)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "3"])
def test_numbers_that_were_put_in(number, saved, tmp_path):
    with pytest.raises(InputError, match=r"was altered after it was written: .* Save the map again"):
        loaded(saved.replace('"fit": {', f'"fit": {{"floor": {number}, "more": {number}, ', 1), tmp_path)


@pytest.mark.parametrize("key", ["fit", "marks", "method"])
@pytest.mark.parametrize("value", [None, [], {}, 3, "x"])
def test_parts_that_were_changed(key, value, saved, tmp_path):
    with pytest.raises(InputError, match="was altered after it was written"):
        loaded(json.dumps({**json.loads(saved), key: value}), tmp_path)


@pytest.mark.parametrize("key", ["fit", "marks", "method"])
def test_parts_that_are_missing(key, saved, tmp_path):
    whole = json.loads(saved)
    del whole[key]
    with pytest.raises(InputError, match=r"is not a whole map .*: save the map again"):
        loaded(json.dumps(whole), tmp_path)


def test_a_folder_holds_no_map(tmp_path):
    with pytest.raises(InputError, match="is a folder: name the file in it that a map was saved to"):
        Recalibration.load(tmp_path)
