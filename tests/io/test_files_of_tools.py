"""Files as other programs write them: attempts until each is read, none misread, and the command that states it."""

import csv
import importlib.util
import io
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from kernelcal.cases import Case
from kernelcal.cli import main
from kernelcal.cli.parser import argument_parser
from kernelcal.cli.tables import asked_reading
from kernelcal.errors import InputError
from kernelcal.io import ReadOptions, read
from kernelcal.predictions import checked_pair
from kernelcal.stream import lines, read_together

_spec = importlib.util.spec_from_file_location("files_of_tools", Path(__file__).with_name("files_of_tools.py"))
tools = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tools)

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "files.rst").read_text(encoding="utf-8")
READ = [name for name, (_, answers, _) in tools.FILES.items() if answers is not None]
REFUSED = {
    "survey: confident (1 to 5), correct": "answers on a scale, and no probabilities",
    "survey: how sure (very likely, ...)": "no column has a usual name for the predictions",
    "weather: obs in Celsius, forecasts in Fahrenheit": "say which with --target NAME, and the predictions",
    "football: FTR, B365H, B365D, B365A (odds)": "say which with --target NAME, and the predictions",
    "football: result, H, D, A (odds)": r"are these decimal odds\? .* 1 / odds divided by its sum in the row",
    "betting: odds, won": "no column has a usual name for the predictions",
    "Weka: actual, predicted, prediction (2:yes)": "no column has a usual name for the predictions",
    "clusters: cluster, cluster_0 to cluster_2 (no outcome)": "no column has a usual name for the target",
    "label, pred (0, 1), prediction_std": "no column has a usual name for the predictions",
    "sktime: two lines of names": "the header names 'y' more than once",
}


def numbers_of(data):
    """Probability of what came true in every row, or outcomes beside what was predicted of numbers."""
    case = Case.of(data.y, data.predictions)
    batch = case.predictions
    if hasattr(batch, "probabilities"):
        return np.asarray(batch.probabilities)[np.arange(len(case)), checked_pair(data.y, batch)[0]]
    own = next(some for some in (("values",), ("draws",), ("mean", "std")) if hasattr(batch, some[0]))
    return np.column_stack([case.targets, *(np.asarray(getattr(batch, name)).reshape(len(case), -1) for name in own)])


def same(found, right):
    assert found.shape == right.shape
    np.testing.assert_allclose(found, right, rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("name", READ)
def test_the_attempts_until_a_file_is_read(tmp_path, name):
    _, answers, right = tools.FILES[name]
    paths, truth = tools.write(tmp_path, name)
    said = {} if truth is None else {"truth": truth}
    for more in answers or []:
        with pytest.raises(InputError):
            numbers_of(read(paths, ReadOptions(**said)))
        said |= more
    data = read(paths, ReadOptions(**said))
    same(numbers_of(data), right)
    assert not data.doubts
    assert "\n" not in data.sentence


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_told_is_asked(tmp_path, name):
    paths, _ = tools.write(tmp_path, name)
    with pytest.raises(InputError, match=REFUSED[name]):
        read(paths, ReadOptions())


def test_all_others_are_read():
    assert {name for name, (_, answers, _) in tools.FILES.items() if answers is None} == set(REFUSED)
    assert len(tools.FILES) > 60


def command(paths, truth, answers):
    said = [part for more in answers or [] for item in more.items() for part in _as_said(*item)]
    return ["evaluate", *map(str, paths), *([] if truth is None else ["--truth", str(truth)]), *said]


def _as_said(name, value):
    return [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]


@pytest.mark.parametrize("name", READ)
@pytest.mark.quick_cases(31)
def test_the_command_that_states_it_reads_the_same(tmp_path, name, capsys):
    _, answers, right = tools.FILES[name]
    typed = command(*tools.write(tmp_path, name), answers)
    assert main([*typed, "--explain-reading"]) == 0
    out = capsys.readouterr().out
    stated = re.search(r"^the same, stated: (.+)$", out, re.MULTILINE)
    if stated is None:
        assert "every column was named" in out
        return
    kernelcal, *again = shlex.split(stated[1])
    assert kernelcal == "kernelcal"
    assert len(again) > len(typed)
    options = argument_parser().parse_args(again)
    data = read(options.files, asked_reading(options))
    same(numbers_of(data), right)
    assert out.startswith(data.description)
    assert main([*again, "--explain-reading"]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith(data.description)


TEXT = [
    name for name, (files, _, right) in tools.FILES.items() if right is not None and isinstance(files.get("a.csv"), str)
]


def in_parts(paths, options):
    """What is read, or the message that refuses it."""
    try:
        return read_together(paths, options)
    except InputError as refusal:
        return str(refusal)


def said_of(name):
    return {role: value for more in tools.FILES[name][1] for role, value in more.items()}


@pytest.mark.parametrize("name", TEXT)
def test_the_order_of_columns_says_nothing(tmp_path, name):
    """Columns turned round: the same numbers, whatever stands first."""
    files, _, right = tools.FILES[name]
    paths, truth = tools.write(tmp_path, name)
    mark = ";" if ";" in files["a.csv"].splitlines()[-1] else ","
    rows = list(csv.reader(io.StringIO(files["a.csv"]), delimiter=mark))
    with open(paths[0], "w", newline="") as stream:
        turned = (row[::-1] if len(row) == len(rows[-1]) and len(row) == sum(map(bool, row)) else row for row in rows)
        csv.writer(stream, delimiter=mark).writerows(turned)
    found = numbers_of(read(paths, ReadOptions(**said_of(name), **({} if truth is None else {"truth": truth}))))
    same(np.sort(found, axis=-1 if found.ndim > 1 else 0), np.sort(right, axis=-1 if right.ndim > 1 else 0))


@pytest.mark.parametrize("name", TEXT)
def test_files_in_parts_are_read_as_at_once(tmp_path, monkeypatch, name):
    pytest.importorskip("pyarrow.csv")
    paths, truth = tools.write(tmp_path, name)
    said, right = said_of(name), tools.FILES[name][2]
    whole = read(paths, ReadOptions(**said, **({} if truth is None else {"truth": truth})))
    monkeypatch.setattr(lines, "BLOCK", 900)
    parts = in_parts(paths, ReadOptions(**said, **({} if truth is None else {"truth": truth})))
    if isinstance(parts, str):
        assert re.search("lists|--truth cannot be said|draws have no exact test|a long table", parts)
        assert re.search("larger --memory", parts)
        return
    same(numbers_of(parts), right)
    assert {(one.role, one.columns) for one in parts.choices} == {(one.role, one.columns) for one in whole.choices}


def test_odds_as_probabilities(tmp_path):
    """The message says what to do with odds; then the numbers are those of the bookmaker without the margin."""
    paths, _ = tools.write(tmp_path, "football: FTR, B365H, B365D, B365A (odds)")
    asked = {"target": "FTR", "predictions": "B365H,B365D,B365A"}
    with pytest.raises(InputError, match=r"are these decimal odds\?"):
        read(paths, ReadOptions(**asked))
    odds = (0.95 / np.maximum(tools.ROWS, 0.02)).round(2)
    p = 1 / odds / (1 / odds).sum(axis=1, keepdims=True)
    again = tools.save(
        tmp_path,
        "b.csv",
        tools.text({"FTR": tools.RESULT[tools.LABELS], **tools.named(["B365H", "B365D", "B365A"], p)}),
    )
    data = read([again], ReadOptions(**asked))
    same(numbers_of(data), p[tools.K, tools.LABELS])
    assert data.predictions.classes == ("H", "D", "A")


def test_one_column_of_odds(tmp_path):
    paths, _ = tools.write(tmp_path, "betting: odds, won")
    with pytest.raises(InputError, match=r"no number is below 1: are these decimal odds\? Pass 1 / odds"):
        read(paths, ReadOptions(predictions="odds"))


def test_units_that_differ_by_their_names_are_asked_about(tmp_path):
    paths, _ = tools.write(tmp_path, "weather: obs in Celsius, forecasts in Fahrenheit")
    data = read(paths, ReadOptions(target="obs_C", mean="fcst_mean_F", std="fcst_std_F"))
    assert data.doubts == (
        "obs_C and fcst_mean_F are called after two units (c, f): are they in one? Write both in the same unit",
    )


def test_the_table_of_the_guide():
    table = PAGE.partition("Files of other programs")[2]
    rows = re.findall(r"^   \* - (.+)\n     - (.+)\n     - (.+)", table, flags=re.MULTILINE)
    said = {name: now for name, _, now in rows if name != "file"}
    found = {
        name: "asked" if answers is None else str(1 + len(answers)) for name, (_, answers, _) in tools.FILES.items()
    }
    assert said == found
    first, later = ([row for row in rows if row[0] in group] for group in (set(found) - set(tools.LATER), tools.LATER))
    before, after = ([row[k] for row in first] for k in (1, 2))
    words = "{} files as other .* middle column is the first try: {} of\nthem .* {} not at all .*now {} are read at .*"
    counts = (len(first), before.count("1"), before.count("not read"), after.count("1"))
    assert re.search(words.format(*counts), table, re.DOTALL)
    before, after = ([row[k] for row in later] for k in (1, 2))
    words = "{} more were .*. {} of them were read rightly .*\n{} wrongly.* of these files {} are read at the first .*"
    counts = (len(later), before.count("1"), before.count("wrong"), after.count("1"))
    assert re.search(words.format(*counts), table, re.DOTALL)


@pytest.mark.parametrize(
    ("table", "truth", "name"),
    [
        ("submission.csv", "solution.csv", "Kaggle: submission and solution, both called target"),
        ("forecasts.csv", "outcomes.csv", "forecasts, and outcomes whose id has another name"),
    ],
)
def test_the_guide_shows_what_is_said(tmp_path, monkeypatch, capsys, table, truth, name):
    (path,), outcomes = tools.write(tmp_path, name)
    path.rename(tmp_path / table)
    outcomes.rename(tmp_path / truth)
    monkeypatch.chdir(tmp_path)
    main(["evaluate", table, "--truth", truth])
    said = capsys.readouterr()
    first = next(line for line in (said.out + said.err).splitlines() if line)
    assert f"   $ kernelcal evaluate {table} --truth {truth}\n   {first}\n" in PAGE
