"""What the tests of streams share: a table, files of it, and what a sketch in memory says."""

import itertools

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.sketch import Sketch, SketchResult
from kernelcal.stream.survey import places

pd = pytest.importorskip("pandas")
ENGINE = kc.RandomFourier(32)
SKETCH = {"engine": ENGINE, "second_moments": False}
SETTINGS = {"engine": ENGINE, "sketch": {"second_moments": False}}


def class_table(n=5000, seed=0, names=("cat", "dog", "owl")):
    """Table of calibrated predictions, whose p-value is in the middle: it depends on which row draws which number."""
    p = np.random.default_rng(seed).dirichlet(np.ones(len(names)), n)
    y = kc.Categorical(p).sample(rng=seed + 1)[0]
    table = pd.DataFrame(p, columns=[f"p_{name}" for name in names])
    table["label"] = np.array(names)[y]
    return table, y, p


def whole(y, predictions, rows=None, n=None, draws=99, **settings):
    """What a sketch in memory says."""
    looked = np.concatenate([np.asarray(run) for run in places(n or len(y))])
    if rows is not None:
        looked = np.flatnonzero(np.isin(rows, looked))
    sketch = Sketch.like(predictions[looked], draws=draws, **{**SKETCH, **settings})
    return sketch.update(y, predictions, rows=rows).result()


OPTIONS = {"predictions": "p_*", "target": "label", "draws": 99, **SETTINGS}


def cut(table, folder, cuts, *, kind="parquet", group=700):
    """Write the rows between the cuts to a file each; their names are in order."""
    folder.mkdir(exist_ok=True)
    for number, (start, stop) in enumerate(itertools.pairwise([0, *cuts, len(table)])):
        path = folder / f"part{number:03}.{kind}"
        if kind == "parquet":
            table[start:stop].to_parquet(path, row_group_size=group, index=False)
        else:
            table[start:stop].to_csv(path, index=False)
    return folder


def numbers_in(plain, path=()):
    """All numbers of a result, and where they stand; words name classes, which not every way knows."""
    if isinstance(plain, dict | list):
        items = plain.items() if isinstance(plain, dict) else enumerate(plain)
        return {at: x for name, value in items for at, x in numbers_in(value, (*path, name)).items()}
    return {} if isinstance(plain, str) or path == ("seconds",) else {path: plain}


def assert_same(found, expected):
    """Every number, to the last bit."""
    first, second = (numbers_in(SketchResult.to_dict(result)) for result in (found, expected))
    assert len(second) > 20
    assert first == second


def assert_near(found, expected):
    """Numbers that were written in another way, and are off by rounding."""
    assert found.n == expected.n
    assert found.pvalue == pytest.approx(expected.pvalue, abs=0.02)
    draws = [result.test.members[0].deviation for result in (found, expected)]  # in units of the drawn values
    assert draws[0] == pytest.approx(draws[1], rel=1e-3)
    for name, value in expected.means.items():
        assert found.means[name] == pytest.approx(value, rel=1e-9)
    assert [float(e) for e in found.eces] == pytest.approx([float(e) for e in expected.eces], rel=1e-7)
