"""Groups of files that are read in parts: those of a sketch in memory, saved, merged, judged, and bounded."""

import json
import re

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.sketch import GroupedSketch, load_sketch
from kernelcal.stream import OnePass, evaluate_batches, evaluate_files

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

ENGINE = kc.RandomFourier(16)
SKETCH = {"prediction_kernel": kc.Laplacian(0.2)}


def _table(n=900, seed=0):
    rng = np.random.default_rng(seed)
    p, ward = rng.uniform(size=n), np.array(["east", "south", "west"])[rng.integers(3, size=n)]
    y = (rng.random(n) < np.where(ward == "south", p**2, p)).astype(int)
    return pd.DataFrame({"p": p, "y": y, "ward": ward, "age": rng.integers(20, 80, n)})


@pytest.fixture
def folder(tmp_path):
    table = _table()
    (tmp_path / "d").mkdir()
    table[:500].to_parquet(tmp_path / "d" / "a.parquet", row_group_size=130)
    table[500:].to_parquet(tmp_path / "d" / "b.parquet")
    table.to_csv(tmp_path / "whole.csv", index=False)
    return tmp_path


def run(capsys, *arguments):
    status = main([*map(str, arguments)])
    return status, *capsys.readouterr()


@pytest.mark.slow
def test_groups_of_files_are_those_of_a_sketch_in_memory(folder):
    table = _table()
    asked = {"draws": 39, "engine": ENGINE, "sketch": SKETCH, "groups": ["ward", "age"]}
    found = [evaluate_files(path, **asked).by_group for path in (folder / "d", folder / "whole.csv")]
    groups = {"ward": table.ward.to_numpy(), "age": table.age.to_numpy()}
    sketch = GroupedSketch.like(kc.Bernoulli(table.p), kc.Laplacian(0.2), groups=groups, engine=ENGINE, draws=39)
    expected = sketch.update(table.y, kc.Bernoulli(table.p), groups=groups).result().by_group
    for by in found:
        assert by.verdict == expected.verdict
        assert by.notes == expected.notes
        for one, other in zip(by.findings, expected.findings, strict=True):
            assert (one.column, one.name, one.n, one.pvalue) == (other.column, other.name, other.n, other.pvalue)
            assert one.skce == pytest.approx(other.skce, rel=1e-9)
    assert expected.verdict.startswith("1 of 7 groups is rejected: ward south")


@pytest.mark.slow
def test_groups_are_told_where_a_path_is_evaluated(folder):
    found = kc.evaluate(folder / "d", "p", target="y", groups="ward", sketch=SKETCH, engine=ENGINE, draws=39)
    assert [g.name for g in found.by_group.rejected] == ["south"]
    assert "16 frequencies, 3 groups of ward" in found.plan.sentence()
    pooled = kc.evaluate(folder / "d", "p", target="y", groups="ward", pool_groups=1, draws=39)
    assert {g.name for g in pooled.by_group.findings} == {"all others", *pooled.sketch.columns[0].names}


def test_groups_of_a_frame_on_dask(folder):
    dd = pytest.importorskip("dask.dataframe")
    table = _table()
    asked = {"draws": 39, "engine": ENGINE, "sketch": SKETCH, "groups": "ward", "predictions": "p", "target": "y"}
    found = kc.evaluate(dd.from_pandas(table, npartitions=4), **asked).by_group
    expected = evaluate_files(folder / "whole.csv", **asked).by_group
    assert [(g.name, g.n, g.pvalue) for g in found.findings] == [(g.name, g.n, g.pvalue) for g in expected.findings]


@pytest.mark.slow
def test_saved_sums_of_groups_are_merged_and_judged(capsys, folder):
    both = folder / "both.npz"
    day = ("evaluate", folder / "d/a.parquet", "--groups", "ward,age", "--engine", "fourier", "--features", 16)
    assert run(capsys, *day, "--save", folder / "a.npz")[0] == 0
    more = ("evaluate", folder / "d/b.parquet", "--groups", "ward,age", "--like", folder / "a.npz")
    assert run(capsys, *more, "--save", folder / "b.npz")[0] == 0
    status, out, _ = run(capsys, "merge", folder / "a.npz", folder / "b.npz", "-o", both, "--fail-below", 0.01)
    assert status == 1
    assert re.search(r"\d of 7 groups (is|are) rejected: ward south", " ".join(out.split()))
    assert f"gate: 2 files, {folder}/a.npz to {folder}/b.npz, ward south: p = 0.005 is below 0.01" in out
    assert f"wrote {both}" in out
    first, second = load_sketch(folder / "a.npz"), load_sketch(folder / "b.npz")
    assert load_sketch(both).result().by_group.to_dict() == (first + second).result().by_group.to_dict()
    status, out, _ = run(capsys, "merge", both, "--json", "--fail-below", 0.01)
    found = json.loads(out)
    assert status == 1
    assert found["groups"]["findings"][0]["name"] == "south"
    assert found["said_no"] == [f"{both}, ward south: p = 0.005 is below 0.01"]


@pytest.mark.slow
def test_sums_with_groups_and_without_are_not_merged(capsys, folder):
    for name, more in (("with", ("--groups", "ward")), ("without", ())):
        asked = (
            "evaluate",
            folder / "whole.csv",
            "--target",
            "y",
            "--predictions",
            "p",
            "--engine",
            "fourier",
            "--features",
            16,
            *more,
        )
        assert run(capsys, *asked, "--save", folder / f"{name}.npz")[0] == 0
    err = run(capsys, "merge", folder / "with.npz", folder / "without.npz")[2]
    assert "without.npz: a sketch of groups is merged with another one, got Sketch, which holds no groups" in err
    err = run(capsys, "merge", folder / "without.npz", folder / "with.npz")[2]
    assert f"these sums hold groups, and those of {folder}/without.npz hold none: save all with the same" in err
    asked = ("evaluate", folder / "whole.csv", "--target", "y", "--predictions", "p", "--save", folder / "x.npz")
    err = run(capsys, *asked, "--like", folder / "with.npz")[2]
    assert "holds groups of ward, and no groups were asked for: say groups='ward' (--groups ward)" in err
    err = run(capsys, *asked, "--like", folder / "without.npz", "--groups", "age")[2]
    assert "holds no groups, and groups of age were asked for: leave groups (--groups) out" in err
    err = run(capsys, *asked, "--like", folder / "with.npz", "--groups", "ward", "--pool-groups", 2)[2]
    assert "--pool-groups 2: the groups are those of" in err


@pytest.mark.slow
def test_too_many_groups_are_refused_before_the_pass_and_during_it(capsys, folder):
    table = _table().assign(name=[f"id{k}" for k in range(900)])
    late = table.assign(name=np.where(np.arange(900) < 400, "early", table.name))
    for k, frame in enumerate((table, late)):
        path = folder / f"{k}.csv"
        frame.to_csv(path, index=False)
        err = run(capsys, "evaluate", path, "--one-pass", "--groups", "name")[2]
        assert "column 'name' has more than 50 groups in one pass" in err
        assert "--pool-groups 20" in err
        status, out, _ = run(capsys, "evaluate", path, "--one-pass", "--groups", "name", "--pool-groups", 2, "--json")
        assert status == 0
        assert len(json.loads(out)["groups"]["findings"]) == 3
    for value, why in ((0, "from 1 to 49, got 0"), (60, "from 1 to 49, got 60")):
        assert why in run(capsys, "evaluate", path, "--one-pass", "--groups", "name", "--pool-groups", value)[2]
    assert "say --one-pass" in run(capsys, "evaluate", path, "--groups", "ward", "--pool-groups", 2)[2]
    assert "none were asked for" in run(capsys, "evaluate", path, "--one-pass", "--pool-groups", 2)[2]
    assert "--groups y: this is the target" in run(capsys, "evaluate", path, "--one-pass", "--groups", "y")[2]


@pytest.mark.slow
def test_a_limit_of_memory_bounds_the_groups(folder):
    """What was planned is allowed, and groups beyond those that were looked at as far as the rest of it holds them."""
    table = _table(9000)
    table["late"] = np.where(np.arange(9000) % 4 == 1, [f"id{k // 4 % 40}" for k in range(9000)], "a")
    looked = np.concatenate([np.arange(k * (9000 - 128) // 15, k * (9000 - 128) // 15 + 128) for k in range(16)])
    table.loc[looked, "late"] = "a"
    table.to_parquet(folder / "late.parquet")
    asked = {"groups": "late", "predictions": "p", "target": "y", "engine": kc.RandomFourier(256)}
    taken = int(evaluate_files(folder / "d", groups="ward", engine=asked["engine"]).plan.bytes - 1e8)
    with pytest.raises(
        InputError, match=r"more than 1?\d groups in one pass, as many as the memory that was said allows"
    ):
        evaluate_files(folder / "late.parquet", memory=taken, **asked)
    with pytest.raises(InputError, match="--memory 251 MB: the least that works is"):
        evaluate_files(folder / "late.parquet", memory=int(251e6), **asked)
    assert len(evaluate_files(folder / "late.parquet", memory=10**9, **asked).by_group.findings) == 41


@pytest.mark.slow
def test_groups_of_batches_are_the_same_for_any_engine_and_order():
    pa = pytest.importorskip("pyarrow")
    table = _table().assign(id=np.arange(900))
    asked = {"key": "id", "groups": ["ward", "age"], "target": "y", "predictions": "p", "draws": 39, "engine": ENGINE}
    shuffled = table.sample(frac=1, random_state=1)
    found = [
        evaluate_batches(rows, **asked) for rows in (table, pa.Table.from_pandas(shuffled).to_batches(max_chunksize=70))
    ]
    assert found[0].by_group.to_dict() == found[1].by_group.to_dict()
    begun = OnePass.of(table, **asked)
    parts = [begun.sums([shuffled[:300]]), begun.sums([shuffled[300:]])]
    assert begun.result([begun.merged(parts)]).by_group.to_dict() == found[0].by_group.to_dict()
    pooled = evaluate_batches(table, **{**asked, "groups": "ward"}, pool_groups=1)
    assert len(pooled.by_group.findings) == 2
    assert (
        evaluate_batches(table, like=found[0].sketch, **{k: asked[k] for k in ("key", "groups")}, target="y").n == 900
    )
    with pytest.raises(
        InputError, match=r"like= holds groups of ward, age, and no groups were asked for: say groups='w"
    ):
        evaluate_batches(table, like=found[0].sketch, key="id")
