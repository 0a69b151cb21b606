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
    for name in ("given", "methods", "sets"):
        sys.modules.pop(name, None)


def lines_of(losses_of):
    """Lines of three methods on two models and two splits, of one source, for every size and two and three classes."""
    lines = []
    for model, losses in losses_of.items():
        for split in ("0", "1"):
            for n in (100, 500):
                for classes in ("2", "3"):
                    for method, loss in zip(("identity", "kernelcal auto", "other"), losses, strict=True):
                        told = (str(loss), str(loss), f"{loss - losses[1]:.5f}", "0.06")
                        lines.append(["fitted", "set", model, classes, split, str(n), method, *told])
    return lines


def test_ranks_are_those_of_the_scores(experiment):
    head, table = experiment.ranks(lines_of({"a": (0.5, 0.3, 0.4), "b": (0.5, 0.6, 0.4)}))
    assert [tuple(row[:5]) for row in table[:2]] == [("fitted", "2", 100, 4, m) for m in ("identity", "kernelcal auto")]
    first = {row[4]: dict(zip(head, row, strict=True)) for row in table[:3]}
    assert first["kernelcal auto"]["mean rank, log score"] == "2.00"
    assert first["other"]["mean rank, log score"] == "1.50"
    assert first["other"]["pool better on %"] == "50"
    assert first["other"]["clearly different on %"] == "50"  # by .1 where .12 is two standard errors, and by .2
    assert first["other"]["pool better on % of these"] == "0"
    assert first["kernelcal auto"]["worst loss against identity, nats"] == "0.1000"
    assert first["other"]["mean behind the pool, nats"] == "-0.0500"
    head, lines = experiment.summary(head, table)
    assert [tuple(line[:3]) for line in lines] == [("fitted", k, n) for k in ("2", "3 and more") for n in (100, 500)]
    told = dict(zip(head, lines[0], strict=True))
    assert (told["next"], told["rank of the next"], told["nearest"]) == ("other", "1.50", "other")
    assert (told["pool better on %"], told["known best better on %"]) == ("50", "75")


def test_changes_of_the_crps_are_those_of_each_set(experiment):
    lines = [
        [name, "model", "normal", 0, n, method, crps, ""]
        for n in (100, 500)
        for name, old, new in (("a", "2", "1.9"), ("b", "4", "4.08"), ("c", "1", "1"))
        for method, crps in (("identity", old), ("kernelcal auto", new))
    ]
    _, table = experiment.crps_changes(lines)
    assert table == [["model", "normal", n, 3, "0.0", "-2.0", "5.0"] for n in (100, 500)]


def test_what_was_best_on_the_other_split_is_known(experiment):
    head, table = experiment.ranks(lines_of({"a": (0.5, 0.3, 0.4)}))
    known = {row[4]: row[head.index("known best better on %")] for row in table[:3]}
    assert known == {"identity": "100", "kernelcal auto": "50", "other": "100"}


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
    assert lines[0][7:] == [
        f"{own.mean():.5f}",
        f"{experiment.briers(p[100:], y[100:]).mean():.5f}",
        f"{(own - pool).mean():.5f}",
        f"{(own - pool).std() / np.sqrt(300):.5f}",
    ]
    assert lines[2][7:] == ["", "", "", ""]
    assert list(experiment.of_classes(1, known=[("fitted", "set", "model", "0")])) == []
    monkeypatch.setattr(experiment, "FEW", 400)  # ten orders: every row is scored by the mean of those that left it out
    (several,) = experiment.of_classes(1)
    everywhere = experiment.log_losses(p, y)
    assert several[0][7] == f"{everywhere.mean():.5f}"


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


def test_the_page_says_of_the_pool_what_the_tables_have():
    pool, ranks, lines = table("pool"), table("ranks"), table("classes")
    others = [row for row in ranks if row["method"] != "identity" and not row["method"].startswith("kernelcal")]
    assert all(float(row["mean behind the pool, nats"]) > 0 for row in others)
    first = sum(float(row["rank of the pool"]) < float(row["rank of the next"]) for row in pool)
    worst = "worst loss against identity, nats"
    most = [max(float(row[worst]) for row in pool if row["n"] == n) for n in ("100", "500", "2000")]
    loss = {}
    for row in others:
        if row["n"] == "100":
            loss[row["method"]] = max(float(row[worst]), loss.get(row["method"], 0))
    least = min(loss, key=loss.get)
    assert least == "netcal LogisticCalibration"
    made = {row["set"] for row in lines if row["source"] == "fitted"}
    given = {(row["set"], row["model"]) for row in lines if row["source"] == "given"}
    told_by_the_page(
        f"{len(made)} data sets (seven real) with six classifiers",
        f"{len(given)} published sets of predictions",
        f"every other package in all {len(pool)} settings, and its mean rank is in {first}",
        f"at most {most[0]:.4f} nats with 100 rows, {most[1]:.4f} with 500 and {most[2]:.4f} with 2,000",
        f"the least of the others with 100 rows is {loss[least]:.4f}",
        f"the nearest package is worse on {span(pool, 'pool better on %')}",
        f"noise: {span(pool, 'clearly different on %')} of those to the nearest",
        f"the pool wins {span(pool, 'pool better on % of these')}",
        f"is better than the nearest on {span(pool, 'known best better on %')}",
    )


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


def test_what_is_decided_by_the_pool_is_in_the_table():
    pool = table("pool")
    said = " ".join((ROOT / "docs" / "decisions.rst").read_text(encoding="utf-8").split())
    better = sorted(int(row["pool better on %"]) for row in pool)
    known = span(pool, "known best better on %").replace(" %", "")
    assert (better[-2] < 80 <= better[-1], pool[5]["pool better on %"]) == (True, str(better[-1]))  # fitted, 2,000
    assert f"elsewhere {better[0]} to {better[-2]} % against the nearest" in said
    assert f"reaches {known} % against the same packages, and of the differences" in said
    assert f"{span(pool, 'clearly different on %')} are clear" in said
    most = [max(float(row[list(row)[-1]]) for row in pool if row["n"] == n) for n in ("100", "500", "2000")]
    assert "(100, 500, 2,000 rows): " + ", ".join(f"{value:.4f}".lstrip("0") for value in most) in said


def test_what_is_decided_by_the_price_where_nothing_is_wrong_is_in_the_table():
    price = {(row["classes"], row["n"]): row for row in table("null")}
    said = " ".join((ROOT / "docs" / "decisions.rst").read_text(encoding="utf-8").split())

    def nats(classes, n, name="divergence, 1e-3 nats"):
        return f"{float(price[classes, n][name]) / 1000:.4f}".lstrip("0")

    errors = " and ".join(nats("2", n, "standard error") for n in ("100", "500"))
    assert f"{nats('2', '100')} and {nats('2', '500')}, with standard errors of {errors}" in said
    several = ", ".join(f"{nats('3', n)} and {nats('5', n)}" for n in ("100", "500"))
    assert f"Of several classes .010 and .001: {several}." in said
    told = [int(row["told to use the map %"]) for row in price.values() if row["classes"] != "2"]
    assert f"now {min(told)} to {max(told)} %" in said


def test_the_page_says_how_often_the_forward_test_rejects_a_right_family():
    shares = [float(r["forward test rejects %"]) for r in table("test") if r["setting"] == "one temperature is right"]
    told_by_the_page(f"of a right family of maps it rejected {min(shares):.0f} to {max(shares):.0f} % of sets")
