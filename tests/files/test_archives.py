"""A file that the library wrote itself is known where something else was expected, and what reads it is said."""

import json

import numpy as np
import pytest

import kernelcal
from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.files import what_we_wrote
from kernelcal.recalibration import Recalibration, recalibrate

Y, P = np.array([0, 1, 1, 0, 1] * 12), np.tile([0.2, 0.6, 0.7, 0.3, 0.5], 12)


@pytest.fixture
def written(tmp_path):
    """A file of each kind, and words of what reads it."""
    sketch, state, saved = tmp_path / "sketch.npz", tmp_path / "state.npz", tmp_path / "map.json"
    kernelcal.Sketch(kernelcal.Laplacian(1.0), engine=kernelcal.RandomFourier(8), draws=19).update(Y, P).save(sketch)
    monitor = kernelcal.Monitor()
    monitor.update(Y, P)
    monitor.save(state)
    recalibrate(Y, P, "temperature", test=False).save(saved)
    result = tmp_path / "result.json"
    result.write_text(json.dumps({"read": "read a.csv: 60 rows", "ece": [0.1, 0.2]}, indent=2))
    return {sketch: "kernelcal merge", state: "monitor --state", saved: "--apply", result: "--json printed"}


@pytest.mark.slow
def test_a_bit_that_is_flipped_anywhere_is_seen_or_means_nothing(tmp_path):
    """In heads of members, in the directory at the end, and in numbers: refused in words, or read as it was."""
    place, hurt = tmp_path / "state.npz", tmp_path / "hurt.npz"
    kernelcal.Monitor().update(Y, P).save(place)
    whole, text, rng = kernelcal.Monitor.load(place).to_dict(), place.read_bytes(), np.random.default_rng(0)
    heads = [at for mark in (b"PK\3\4", b"PK\1\2", b"PK\5\6", b"\x93NUMPY") for at in _places(text, mark)]
    near = rng.choice(heads, 250) + rng.integers(0, 120, 250)
    encrypted = _places(text, b"PK\1\2")[0] + 8  # a flag of the directory, for which zipfile wants a password
    refused = 0
    for at in [encrypted, *np.minimum(near, len(text) - 1), *rng.integers(0, len(text), 50)]:
        bit = 0 if at == encrypted else rng.integers(8)
        hurt.write_bytes(text[:at] + bytes([text[at] ^ (1 << bit)]) + text[at + 1 :])
        try:
            assert kernelcal.Monitor.load(hurt).to_dict() == whole
        except InputError as error:
            refused += "damaged" in str(error)
    assert refused > 150
    for cut in (0, 1, 30, 100, len(text) // 2, len(text) - 1):
        hurt.write_bytes(text[:cut])
        with pytest.raises(InputError, match="damaged"):
            kernelcal.Monitor.load(hurt)


def _places(text, mark):
    found = [text.find(mark)]
    while found[-1] >= 0:
        found.append(text.find(mark, found[-1] + 1))
    return found[:-1]


@pytest.mark.parametrize("command", ["evaluate", "measure", "ranks", "survival", "report"])
def test_no_table(written, command, capsys):
    if command == "report":
        pytest.importorskip("jinja2")
        pytest.importorskip("matplotlib")
    for path, way in written.items():
        assert main([command, str(path)]) == 2
        said = capsys.readouterr().err
        assert "no table of predictions" in said
        assert way in said


@pytest.mark.parametrize(
    ("load", "own"),
    [(kernelcal.Sketch.load, "sketch.npz"), (kernelcal.Monitor.load, "state.npz"), (Recalibration.load, "map.json")],
)
def test_another_kind(written, load, own, tmp_path):
    for path, way in written.items():
        if path.name != own:
            with pytest.raises(InputError, match=way) as found:
                load(path)
            assert "unsafely" not in str(found.value)
            assert "codec" not in str(found.value)
    foreign = tmp_path / "table.csv"
    foreign.write_text("y,p\n1,0.2\n")
    with pytest.raises(InputError, match="damaged") as found:
        load(foreign)
    assert "unsafely" not in str(found.value)


def test_a_table_with_settings_is_no_file_of_ours(tmp_path):
    path = tmp_path / "mine.npz"
    np.savez(path, settings=np.array('{"format": "kernelcal sketch"}'), y=Y, p=P)
    assert not what_we_wrote(path)
    assert kernelcal.evaluate(str(path), "p", target="y", draws=19).n == 60
    assert not what_we_wrote(tmp_path / "nothing.npz")
