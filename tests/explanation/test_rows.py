"""Rows that add most: one of every kind of bad row, with how many are like it; cosines against a loop."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.explanation import explain

N, COPIES = 400, 25


def places(rng):
    return rng.permutation(N)[: 3 * COPIES].reshape(3, COPIES)


def several_classes(rng):
    """Calibrated rows among which three sure errors were planted 25 times each, with a little noise."""
    p = rng.dirichlet(np.ones(4), N)
    y = (rng.random(N)[:, None] > np.cumsum(p, axis=1)[:, :3]).sum(axis=1)
    kinds = [([0.94, 0.02, 0.02, 0.02], 1), ([0.02, 0.02, 0.94, 0.02], 3), ([0.05, 0.45, 0.05, 0.45], 2)]
    planted = places(rng)
    for rows, (q, label) in zip(planted, kinds, strict=True):
        noisy = np.exp(np.log(q) + 0.02 * rng.normal(size=(COPIES, 4)))
        p[rows], y[rows] = noisy / noisy.sum(axis=1, keepdims=True), label
    return y, kc.Categorical(p), planted


def numbers(rng):
    mean, std = 3 * rng.normal(size=N), np.ones(N)
    y = mean + std * rng.normal(size=N)
    planted = places(rng)
    for rows, (m, s, target) in zip(planted, [(7, 1, 2.0), (-6, 1, -1), (0, 3, 9)], strict=True):
        mean[rows], std[rows] = m + 0.02 * rng.normal(size=COPIES), s
        y[rows] = target + 0.02 * rng.normal(size=COPIES)
    return y, kc.Normal(mean, std), planted


@pytest.mark.parametrize("make", [several_classes, numbers])
@pytest.mark.parametrize("known", [False, True])
def test_every_kind_of_bad_row_is_shown_once_and_counted(make, known):
    """Without it the list held 10 of the 25 copies of one kind."""
    y, batch, planted = make(np.random.default_rng(0))
    clusters = {"clusters": np.arange(N) // 2} if known else {}
    found = explain(y, batch, draws=19, **clusters)
    most = np.argsort(-found.contributions)[:10]
    assert max(np.isin(most, rows).sum() for rows in planted) >= 7  # the copies would fill the list
    for rows in planted:
        shown = [row for row in found.rows if row.row in rows]
        assert len(shown) == 1
        assert shown[0].contribution == found.contributions[rows].max()
        assert shown[0].alike == COPIES - 1
        assert shown[0].named.endswith(f" and {COPIES - 1} like it")
    others = [row for row in found.rows if not np.isin(row.row, planted)]
    assert 1 <= len(others) <= 7
    assert sum(row.alike for row in others) < COPIES
    text = repr(found)
    assert "24 like it" in text
    assert "rows like one err in nearly the same way at nearly the same prediction" in text.replace("\n      ", " ")
    assert found.to_dict()["rows"][0]["alike"] == found.rows[0].alike


def test_rows_are_left_out_by_a_cosine():
    """The same walk over the matrix of all pairs, written out."""
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(3), 60).round(1)
    p[:, 0] = 1 - p[:, 1] - p[:, 2]
    y, w = rng.integers(0, 3, 60), rng.choice([0.0, 1.0, 2.0], 60)
    found = explain(y, np.abs(p), weights=w, statistic=kc.SKCE(prediction_kernel=kc.Laplacian(1.0)), draws=19)
    r, left, wanted = (np.eye(3)[y] - p) * w[:, None], list(np.argsort(-found.contributions, kind="stable")), []
    while left and len(wanted) < 10 and found.contributions[left[0]] > 0:
        i, alike = left[0], []
        for j in left:
            size = np.linalg.norm(r[i]) * np.linalg.norm(r[j])
            cosine = np.exp(-np.linalg.norm(p[i] - p[j])) * (r[i] @ r[j]) / size if size > 0 else 0.0
            if (cosine >= 0.9 and found.contributions[j] > 0) or i == j:
                alike.append(j)
        equal = [j for j in alike if y[j] == y[i] and np.allclose(p[j], p[i]) and w[j] == w[i]]
        wanted.append((min(equal), len(equal), len(alike) - len(equal)))
        left = [j for j in left if j not in alike]
    assert [(row.row, row.count, row.alike) for row in found.rows] == wanted
    assert max(count for _, count, _ in wanted) > 1
    assert max(alike for _, _, alike in wanted) > 0


@pytest.mark.slow
def test_row_numbers_are_those_of_the_file(tmp_path):
    """Rows that were dropped count, also where a row stands for those like it."""
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    from kernelcal.cli import main

    y, batch, planted = several_classes(np.random.default_rng(0))
    dropped = np.setdiff1d(np.arange(N), planted)[:7]
    lines = ["y,p0,p1,p2,p3"]
    for i in range(N):
        cells = ["" if i in dropped else str(y[i]), *(f"{v:.17g}" for v in batch.probs[i])]
        lines.append(",".join(cells))
    path, page = tmp_path / "rows.csv", tmp_path / "page.html"
    path.write_text("\n".join(lines) + "\n")
    options = ["--predictions", "p*", "--target", "y", "--drop-missing", "--draws", "99", "-o", str(page)]
    assert main(["report", str(path), *options]) == 0
    kept = np.setdiff1d(np.arange(N), dropped)
    found = explain(y[kept], batch[kept], draws=19)
    text = page.read_text()
    for row in found.rows[:3]:
        number = kept[row.row]
        assert any(number in rows for rows in planted)
        assert f"{number} and {COPIES - 1} like it" in text
    assert "rows like one err in nearly the same way at nearly the same prediction, and are not shown" in text


def test_rows_of_one_probability_are_spread_over_it():
    rng = np.random.default_rng(3)
    p = rng.uniform(size=1_500)
    y = (rng.random(1_500) < np.where(p > 0.6, p - 0.25, p)).astype(int)
    shown = [float(row.predicted) for row in explain(y, p, draws=19).rows]
    assert len(shown) == 10
    assert np.diff(np.sort(shown)).min() > 0.01  # 200 rows lie between two such places
