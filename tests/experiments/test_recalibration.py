"""A short run of the experiment on recalibration: scores, ranks, and what it costs where nothing is wrong."""

import csv
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "experiments" / "recalibration"

if not FOLDER.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)
pytest.importorskip("sklearn", minversion="1.6")


@pytest.fixture(scope="module")
def experiment():
    place = list(sys.path)
    sys.path.insert(0, str(FOLDER))
    spec = importlib.util.spec_from_file_location("recalibration_run", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = place
    for name in ("given", "methods", "ranking", "sets"):
        sys.modules.pop(name, None)


def lines_of(losses_of, sources=("fitted",)):
    """Lines of three methods on models and three splits, for sizes, two and three classes, and sources.

    The other method is .01 better in the first split than told, and .01 worse in the second.
    """
    lines = []
    for source in sources:
        for model, losses in losses_of.items():
            for split, off in (("0", -0.01), ("1", 0.01), ("2", 0.0)):
                for n in ("100", "500"):
                    for classes in ("2", "3"):
                        for method, loss in zip(("identity", "kernelcal auto", "other"), losses, strict=True):
                            told = f"{loss + off * (method == 'other'):.6f}"
                            lines.append([source, "set", model, classes, split, n, method, told, told])
    return lines


def test_a_set_is_judged_by_the_mean_of_its_splits(experiment):
    lines = experiment.means(lines_of({"a": (0.5, 0.3, 0.4)}))
    assert [line[5] for line in lines[:3]] == ["identity", "kernelcal auto", "other"]
    told = dict(zip(experiment.HEAD, lines[2], strict=True))
    error = np.std([0.09, 0.11, 0.1], ddof=1) / np.sqrt(3)
    assert (told["splits"], told["log score"], told["log score less that of the pool"]) == ("3", "0.40000", "0.10000")
    assert told["standard error"] == f"{error:.5f}"
    assert told["most above identity in a split"] == "-0.09000"
    failed = [
        [*line[:7], *(["", ""] if line[4] == "1" and line[6] == "other" else line[7:])]
        for line in lines_of({"a": (0.5, 0.3, 0.4)})
    ]
    assert experiment.means(failed)[2][7:] == [""] * 5
    assert experiment.means(failed)[1] == experiment.means(lines_of({"a": (0.5, 0.3, 0.4)}))[1]
    alone = experiment.means([line for line in lines_of({"a": (0.5, 0.3, 0.4)}) if line[4] == "0"])
    assert alone[2][6:] == ["1", "0.39000", "0.39000", "0.09000", "", "-0.11000"]


def test_ranks_are_those_of_the_scores(experiment):
    models = {"a": (0.5, 0.3, 0.4), "b": (0.5, 0.6, 0.4), "c": (0.5, 0.3, 0.302), "d": (0.5, 0.3, 0.2995)}
    head, table = experiment.ranks(experiment.means(lines_of(models)))
    assert [tuple(row[:5]) for row in table[:2]] == [("fitted", "2", 100, 4, m) for m in ("identity", "kernelcal auto")]
    first = {row[4]: dict(zip(head, row, strict=True)) for row in table[:3]}
    assert first["kernelcal auto"]["mean rank, log score"] == "1.75"  # 1, 3, 1 and 2
    assert first["other"]["mean rank, log score"] == "1.50"
    shares = ["pool better on %", "clearly better on %", "tied on %", "clearly worse on %"]
    assert [first["other"][name] for name in shares] == ["50", "25", "50", "25"]  # .002 and .0005 are less than .0058
    assert first["other"]["better or within 0.001 on %"] == "75"
    assert first["kernelcal auto"]["worst loss against identity, nats"] == "0.1000"
    assert first["other"]["worst in a split, nats"] == "-0.0900"
    assert first["other"]["mean behind the pool, nats"] == "-0.0246"
    head, lines = experiment.summary(head, table)
    assert [tuple(line[:3]) for line in lines] == [("fitted", k, n) for k in ("2", "3 and more") for n in (100, 500)]
    told = dict(zip(head, lines[0], strict=True))
    assert (told["next"], told["rank of the next"], told["nearest"]) == ("other", "1.50", "other")
    assert (told["pool better on %"], told["tied on %"]) == ("50", "50")


def test_sources_are_counted_apart_and_together(experiment):
    lines = experiment.means(lines_of({"a": (0.5, 0.3, 0.4)}, ("fitted", "given")))
    _, table = experiment.ranks(lines)
    assert [row[:4] for row in table[:3]] == [["both", "2", 100, 2]] * 3
    assert {(row[0], row[3]) for row in table} == {("both", 2), ("fitted", 1), ("given", 1)}


def test_what_was_asked_is_compared_with_the_figures(experiment):
    models = {"a": (0.5, 0.3, 0.4), "b": (0.5, 0.516, 0.6)}
    lines = experiment.means(lines_of(models, ("fitted", "given")))
    price = [
        {"classes": k, "n": n, "sets": "9", "divergence, 1e-3 nats": cost, "standard error": "0.10"}
        for k, n, cost in (("2", "100", "3.10"), ("3", "100", "9.00"), ("5", "500", "1.30"), ("2", "2000", "9.00"))
    ]
    tests = [
        {"setting": name, "n": "300", "sets": "500", "forward test rejects %": share}
        for name, share in (("nothing is wrong, and", "6.4"), ("nothing is wrong, or", "7.4"), ("something", "90"))
    ]
    crps = [{"n": n, "sets": "3", "least gain %": gain} for n, gain in (("100", "-9"), ("500", "-1.2"), ("2000", "0"))]
    found = [dict(zip(experiment.BAR_HEAD, line, strict=True)) for line in experiment.bar(lines, price, tests, crps, 2)]
    said = {(row["part"], row["setting"]): (row["figure"], row["verdict"]) for row in found}
    assert said["first in mean rank", "two classes, 100 rows"] == ("1.00", "holds")
    assert said["first in mean rank", "8 settings, sources apart"] == ("8", "holds")
    assert said["better on % of sets", "more classes, 500 rows"] == ("100", "holds")
    assert said["worst loss against identity, nats", "100 rows, mean of a set"] == ("0.0160", "missed")
    assert said["worst loss against identity, nats", "500 rows, single split"] == ("0.0160", "missed")
    cost = "cost where nothing is wrong, nats"
    assert said[cost, "2 classes, 100 rows"] == ("0.00310", "missed, within two errors")
    assert said[cost, "3 classes, 100 rows"] == ("0.00900", "holds")
    assert said[cost, "5 classes, 500 rows"] == ("0.00130", "missed")
    assert (cost, "2 classes, 2000 rows") not in said
    level = [(row["figure"], row["verdict"]) for row in found if row["part"].startswith("forward test")]
    assert level == [("6.4", "holds"), ("7.4", "missed")]
    assert said["CRPS worse by %, at most", "from 500 rows"] == ("1.2", "missed")
    assert said["refused for p = 0", "all sets"] == ("0", "holds")
    assert found[-1]["beside"] == "48 fits of 4 sets, 2 given ones with zeros"


def test_half_of_the_splits_serve_many_rows(experiment):
    sizes = [experiment.sizes_of(split, 15) for split in range(15)]
    assert [len(of_split) for of_split in sizes] == [3] * 8 + [2] * 7
    assert experiment.sizes_of(0, 1) == [100, 500, 2000]


def test_changes_of_the_crps_are_those_of_each_set(experiment):
    lines = [
        [name, "model", "normal", 0, n, method, crps, ""]
        for n in (100, 500)
        for name, old, new in (("a", "2", "1.9"), ("b", "4", "4.08"), ("c", "1", "1"))
        for method, crps in (("identity", old), ("kernelcal auto", new))
    ]
    _, table = experiment.crps_changes(lines)
    assert table == [["model", "normal", n, 3, "0.0", "-2.0", "5.0"] for n in (100, 500)]


def test_a_set_is_scored_and_a_run_goes_on(experiment, monkeypatch):
    rng = np.random.default_rng(0)
    z = rng.normal(size=400)
    y = (rng.random(400) < 1 / (1 + np.exp(-z))).astype(int)
    p = 1 / (1 + np.exp(-3 * z))
    p = np.stack([1 - p, p], axis=1)

    def fails(p, y, others):
        raise ValueError("no")

    ways = {"identity": lambda p, y, others: others, experiment.POOL: lambda p, y, others: 0.5 * others + 0.25}
    monkeypatch.setattr(experiment, "methods_of", lambda classes: {**ways, "fails": fails})
    monkeypatch.setattr(experiment, "class_predictions", lambda split: [("set", "model", p, y)])
    (lines,) = experiment.of_classes(1)
    assert [(line[5], line[6]) for line in lines] == [("100", "identity"), ("100", experiment.POOL), ("100", "fails")]
    own, pool = experiment.log_losses(p[100:], y[100:]), experiment.log_losses(0.5 * p[100:] + 0.25, y[100:])
    assert lines[0][7:] == [f"{own.mean():.6f}", f"{experiment.briers(p[100:], y[100:]).mean():.6f}"]
    assert lines[1][7] == f"{pool.mean():.6f}"
    assert lines[2][7:] == ["", ""]
    assert list(experiment.of_classes(1, known=[("fitted", "set", "model", "0")])) == []
    monkeypatch.setattr(experiment, "FEW", 400)  # ten orders: every row is scored by the mean of those that left it out
    (several,) = experiment.of_classes(1)
    everywhere = experiment.log_losses(p, y)
    assert several[0][7] == f"{everywhere.mean():.6f}"


def test_published_predictions_are_read(experiment, tmp_path):
    (tmp_path / "netcal_records").mkdir()
    np.savez(tmp_path / "netcal_records" / "net.npz", predictions=np.eye(3)[[0, 1]] + 0.5, ground_truth=[0, 2])
    (tmp_path / "expected_cost").mkdir()
    np.save(tmp_path / "expected_cost" / "texts.scores.npy", np.log([[0.2, 0.8], [0.5, 0.5]]) + 3)
    np.save(tmp_path / "expected_cost" / "texts.targets.npy", np.array([1, 0]))
    for folder, name, text in (
        ("fivethirtyeight", "nfl_games.csv", "prob1,prob1_outcome\n.3,1\n.4,0.5\n.9,0\n"),
        ("imagenet_toplabel", "net.csv", "true_label,pred_label,confidence\n3,3,.9\n1,2,.4\n"),
        ("llm_confidence", "all.csv", "llm,stated_confidence,correct\nb,.8,TRUE\na,1,FALSE\nb,NA,TRUE\n"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    found = {(name, model): (p, y) for name, model, p, y in experiment.given_predictions(tmp_path, 0)}
    assert [model for _, model in found] == ["net", "texts", "nfl", "net", "a", "b"]
    for p, y in found.values():
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert len(p) == len(y)
    p, y = found["images and texts", "texts"]
    np.testing.assert_allclose(p[y == 1], [[0.2, 0.8]])
    p, y = found["matches", "nfl"]  # a draw is left out
    assert sorted(zip(p[:, 1], y, strict=True)) == [(0.3, 1), (0.9, 0)]
    p, y = found["language models", "b"]
    assert (p[:, 1].tolist(), y.tolist()) == ([0.8], [1])


@pytest.mark.slow
def test_the_pool_costs_little_where_nothing_is_wrong(experiment, monkeypatch):
    monkeypatch.setattr(experiment, "SIZES", (100,))
    _, lines = experiment.of_null(3)
    assert [line[0] for line in lines] == [2, 3, 5]
    assert all(float(line[3]) < 30 for line in lines)


def test_scores(experiment):
    p, y = np.array([[0.2, 0.8], [1.0, 0.0]]), np.array([1, 1])
    np.testing.assert_allclose(experiment.log_losses(p, y), [-np.log(0.8), -np.log(1e-6)])
    np.testing.assert_allclose(experiment.briers(p, y), [0.08, 2])


def table(name):
    with (ROOT / "docs" / "tables" / f"recalibration_{name}.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def told_by_the_page(*sentences):
    page = " ".join((ROOT / "docs" / "howto" / "recalibrate.rst").read_text(encoding="utf-8").split())
    for sentence in sentences:
        assert sentence in page


def span(rows, name):
    values = [int(row[name]) for row in rows]
    return f"{min(values)} to {max(values)} %"


SIZES = ("100", "500", "2000")
WORST = ("worst loss against identity, nats", "worst in a split, nats")


def largest(rows, name):
    return [max(float(row[name]) for row in rows if row["n"] == n) for n in SIZES]


def first_of(pool):
    """How often the mean rank is the first, with sources together and apart."""
    first = [(row["source"] == "both", float(row["rank of the pool"]) < float(row["rank of the next"])) for row in pool]
    return [sum(ahead for whole, ahead in first if whole == wanted) for wanted in (True, False)]


def test_the_page_says_of_the_pool_what_the_tables_have():
    pool, ranks, lines = table("pool"), table("ranks"), table("classes")
    others = [row for row in ranks if row["method"] != "identity" and not row["method"].startswith("kernelcal")]
    assert all(float(row["mean behind the pool, nats"]) > 0 for row in others)
    together, apart = first_of(pool)
    most, single = (largest(pool, name) for name in WORST)
    loss = {}
    for row in others:
        if row["n"] == "100":
            loss[row["method"]] = max(float(row[WORST[0]]), loss.get(row["method"], 0))
    least = min(loss, key=loss.get)
    made = {row["set"] for row in lines if row["source"] == "fitted"}
    given = {(row["set"], row["model"]) for row in lines if row["source"] == "given"}
    both = [row for row in pool if row["source"] == "both"]
    assert max(int(row["splits"]) for row in lines) == 15
    assert max(int(row["splits"]) for row in lines if row["n"] == "2000") == 8
    told_by_the_page(
        f"{len(made)} data sets (seven real) with six classifiers",
        f"{len(given)} published sets of predictions",
        f"every other package in all {len(pool)} settings",
        f"is the first in all {together} with both sources together, and in {apart} of {len(pool) - len(both)} apart",
        f"at most {most[0]:.4f} nats with 100 rows, {most[1]:.4f} with 500 and {most[2]:.4f} with 2,000 in the mean",
        f"by {single[0]:.4f}, {single[1]:.4f} and {single[2]:.4f} in a single split",
        f"the least of the others with 100 rows is {loss[least]:.4f} in the mean ({least})",
        f"the nearest package is worse on {span(both, 'pool better on %')}",
        f"and clearly better on {span(both, 'clearly worse on %')} of the sets; on {span(both, 'tied on %')} 15 splits",
    )
    assert len(both) == together == 6


def test_what_was_asked_is_told_part_by_part(experiment):
    found, lines = table("bar"), [list(row.values()) for row in table("classes")]
    zeros = int(found[-1]["beside"].split(", ")[1].split()[0])
    made = experiment.bar(lines, *map(table, ("null", "test", "crps")), zeros)
    assert [list(map(str, row)) for row in made] == [list(row.values()) for row in found]
    assert {row["verdict"].split(",")[0] for row in found} <= {"holds", "missed"}


def test_the_tables_of_ranks_are_made_of_the_scores(experiment):
    lines = [list(row.values()) for row in table("classes")]
    head, made = experiment.ranks(lines)
    assert [list(map(str, row)) for row in made] == [list(row.values()) for row in table("ranks")]
    assert [list(map(str, row)) for row in experiment.summary(head, made)[1]] == [
        list(r.values()) for r in table("pool")
    ]


def test_the_page_says_of_numbers_what_the_tables_have(experiment):
    lines, changes = [list(row.values()) for row in table("numbers")], table("crps")
    assert [list(map(str, row)) for row in experiment.crps_changes(lines)[1]] == [list(row.values()) for row in changes]
    least = {n: min(float(row["least gain %"]) for row in changes if row["n"] == n) for n in ("100", "500", "2000")}
    scores = {}
    for name, model, kind, split, n, method, _, loss in lines:
        if kind == "normal":
            scores.setdefault(n, {}).setdefault((name, model, split), {})[method] = float(loss)
    better = {}
    for n, found in scores.items():
        one = [min(made["kernelcal TemperatureScaling"], made["netcal VarianceScaling"]) for made in found.values()]
        better[n] = np.mean(np.array(one) < [made[experiment.POOL] for made in found.values()])
    ngboost = {row["n"]: row for row in changes if row["model"] == "NGBoost"}
    told_by_the_page(
        f"the CRPS of NGBoost falls by {ngboost['500']['median gain %']} % in the median with 500 rows",
        f"the worst of all was {-least['100']:.1f} % worse with 100 rows, {-least['500']:.1f} % with 500",
        f"% with 500 and {-least['2000']:.1f} % with 2,000",
        f"{100 * better['100']:.0f} % of the sets with 100 rows, on {100 * better['500']:.0f} % with 500",
        f"on {100 * better['2000']:.0f} % with 2,000",
    )


def of_decisions(*sentences):
    said = " ".join((ROOT / "docs" / "decisions.rst").read_text(encoding="utf-8").split())
    for sentence in sentences:
        assert sentence in said


def short(value, digits=4):
    return f"{value:.{digits}f}".replace("0.", ".", 1)


def test_what_is_decided_by_the_pool_is_in_the_table():
    pool, found = table("pool"), table("bar")
    both = [row for row in pool if row["source"] == "both"]
    ranks = ", ".join(f"{row['rank of the pool']} beside {row['rank of the next']}" for row in both)
    better = ", ".join(row["figure"] for row in found if row["part"] == "better on % of sets")
    most, single = (", ".join(map(short, largest(pool, name))) for name in WORST)
    of_decisions(
        f"in all six settings, {ranks}. Where",
        f"in {first_of(pool)[1]} of 12",
        f"on 80 % of the sets ({better}; two classes",
        f"Of the nearest, {span(both, 'tied on %')} of the sets are ties",
        f"on {span(both, 'clearly worse on %')} the pool is clearly worse",
        f"(100, 500, 2,000 rows): {most} in the mean of a set",
        f"In a single split {single}: with",
        f"{found[-2]['figure']} % at most",
        f"none in {found[-1]['beside']}",
    )


def test_what_is_decided_by_the_price_where_nothing_is_wrong_is_in_the_table():
    price = {(row["classes"], row["n"]): row for row in table("null")}

    def nats(classes):
        told = []
        for n in ("100", "500"):
            cost, error = (
                short(float(price[classes, n][name]) / 1000, 5) for name in ("divergence, 1e-3 nats", "standard error")
            )
            told.append(f"{cost} +- {error}")
        return " and ".join(told)

    told = [int(row["told to use the map %"]) for row in price.values() if row["classes"] != "2"]
    of_decisions(
        f"(100, 500 rows): {nats('2')}. Of several classes .010 and .001: {nats('3')} (three), {nats('5')} (five).",
        f"now {min(told)} to {max(told)} %",
    )


def test_the_page_says_how_often_the_forward_test_rejects_a_right_family():
    shares = [float(r["forward test rejects %"]) for r in table("test") if r["setting"] == "one temperature is right"]
    fixed = [r["forward test rejects %"] for r in table("test") if r["setting"].startswith("nothing is wrong")]
    told_by_the_page(
        f"of a right family of maps it rejected {min(shares):.0f} to {max(shares):.0f} % of sets",
        f"of a map that is fixed it rejects {' and '.join(fixed)} %",
    )
    of_decisions(f"for a map that is fixed: {' and '.join(fixed)} %")
