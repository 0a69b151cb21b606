"""Sums in whole numbers: exact, the same in any order, and those of a second implementation in plain Python."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom, chisquare

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.inference import keyed_words
from kernelcal.predictions import MultivariateNormal
from kernelcal.randomness import generator_of
from kernelcal.sketch import Sketch, draws, exact, moments, products, sums, turns
from kernelcal.sketch.draws import ClassLaws, DrawnLabels, RowDraws, RowWords
from kernelcal.sketch.products import ClassTotals, WholeFeatures, diagonal_bits, refuse_unknown, residual_bits
from kernelcal.sketch.turns import Turns

KERNEL, ENGINE = kc.Laplacian(0.3), kc.RandomFourier(5, rng=3)


# ---- exact sums


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30), st.integers(0, 30))
def test_floating_sums_are_rounded_once(values, cut):
    x = np.array(values)
    whole, parts = exact.floating(x), exact.floating(x[:cut]) + exact.floating(x[cut:])
    np.testing.assert_array_equal(whole, exact.carried_floating(parts))
    np.testing.assert_array_equal(whole, exact.floating(x[::-1]))
    total = sum(map(Fraction, values), start=Fraction(0))
    try:
        expected = float(total)
    except OverflowError:
        expected = math.inf if total > 0 else -math.inf
    assert float(exact.number_of(whole)) == expected


def test_what_is_no_finite_number_is_counted():
    for values, expected in (([1, np.inf], np.inf), ([1, -np.inf], -np.inf), ([np.inf, -np.inf], np.nan)):
        np.testing.assert_equal(float(exact.number_of(exact.floating(np.array(values, dtype=float)))), expected)
    many = exact.number_of(exact.floating(np.array([[1.0, np.nan], [0.1, 2.0]])))
    np.testing.assert_equal(many, [1.1, np.nan])


@given(st.lists(st.floats(-500, 500), min_size=1, max_size=30), st.integers(0, 30))
def test_fixed_sums_are_those_of_rounded_rows(values, cut):
    x = np.array(values)
    whole = exact.fixed(x, 40)
    np.testing.assert_array_equal(whole, exact.carried(exact.fixed(x[:cut], 40) + exact.fixed(x[cut:], 40)))
    expected = sum(round(Fraction(v) * 2**40) for v in values)
    assert (int(whole[0]) << 32) + int(whole[1]) == expected
    assert float(exact.numbers_of(whole, 40)) == pytest.approx(expected / 2**40, rel=1e-15, abs=0)
    assert 0 <= whole[1] < 2**32
    np.testing.assert_array_equal(exact.fixed(x / 500, 40, most=1), exact.fixed(x / 500, 40))


@pytest.mark.parametrize("rows", [2**13, 2**13 + 1, 2**14])
@pytest.mark.parametrize("value", [1.0, -1.0, 1 - 2**-40])
def test_sums_of_one_digit_are_those_of_two_as_far_as_they_are_exact(rows, value):
    x = np.full((rows, 2), value)
    x[::3, 1] = 2.0**-40
    whole = exact.fixed(x, 40, most=1)
    expected = [sum(round(v * 2**40) for v in column) for column in x.T.tolist()]
    assert [(int(high) << 32) + int(low) for high, low in whole.T] == expected


# ---- words and labels


@pytest.mark.parametrize("first", [0, 7, 2**52 - 40, 2**61 + 5])
def test_a_row_owns_its_words(first):
    """By the generator of NumPy, counted to the row; in a run, in any order, and alone."""
    words = RowWords(4)
    run = words.of(range(first, first + 30), 10)
    key = generator_of(4, "draws of a sketch").integers(2**64, size=2, dtype=np.uint64)
    for row in (0, 1, 29):
        start = 3 * (first + row)  # ten words are three counts of four
        counter = np.array([start % 2**64, start >> 64, 0, 0], dtype=np.uint64)
        expected = np.random.Philox(key=key, counter=counter).random_raw(10)
        np.testing.assert_array_equal(run[row], expected)
    rows = np.arange(first, first + 30)
    order = np.random.default_rng(0).permutation(30)
    np.testing.assert_array_equal(words.of(rows[order], 10), run[order])
    np.testing.assert_array_equal(words.of(np.delete(rows, 11), 10), np.delete(run, 11, axis=0))
    assert not np.array_equal(words.of(range(first, first + 30), 10, stream=1), run)


def test_a_key_owns_its_words():
    words, rng = RowWords(3), np.random.default_rng(0)
    ids = rng.integers(2**64, size=50, dtype=np.uint64)
    whole, order = words.halves(ids, 31), rng.permutation(50)[:20]
    np.testing.assert_array_equal(words.halves(ids[order], 31), whole[order])
    np.testing.assert_array_equal(words.halves(ids, 10), whole[:, :10])
    key = generator_of(3, "draws of a sketch").integers(2**64, size=2, dtype=np.uint64)
    np.testing.assert_array_equal(whole, keyed_words(key, ids, 0, 31))
    assert not np.array_equal(words.halves(np.arange(50), 31), words.halves(np.arange(50, dtype=np.uint64), 31))
    assert not np.array_equal(words.halves(ids, 31, stream=1), whole)
    np.testing.assert_array_equal(words.uniforms(ids, 3, 2)[:, order], words.uniforms(ids[order], 3, 2))


def drawn_labels(batch, y, draws, rng=1):
    """Labels of all rows, whatever their groups."""
    words = RowWords(rng)
    rows = RowDraws.of(words, words.turns(draws), range(len(y)))
    return DrawnLabels(rows, ClassLaws.of(batch), np.asarray(y))


@pytest.fixture
def small_circle(monkeypatch):
    """Circles of few cells, where fractions of cells decide many labels; returns what makes them so."""

    def small(bits):
        Turns.of.cache_clear()
        for module in (draws, turns, products):
            monkeypatch.setattr(module, "CIRCLE_BITS", bits)

    yield small
    Turns.of.cache_clear()


SHARES = np.array([0.31, 0.0, 0.44, 1e-9, 0.25 - 1e-9, 0.0])


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("bits", [31, 3])
def test_labels_follow_their_probabilities(bits, small_circle):
    """Those of every draw, and what has probability 0 is never drawn."""
    small_circle(bits)
    n = 20_000 if bits > 3 else 1_000
    y = np.random.default_rng(0).choice(6, n, p=SHARES)
    labels = drawn_labels(kc.Categorical(np.tile(SHARES, (n, 1))), y, 6).every()
    for draw in labels.T:
        counts = np.bincount(draw, minlength=6)
        assert counts[[1, 3, 5]].sum() <= 1
        kept = [0, 2, 4]
        assert chisquare(counts[kept], counts.sum() * SHARES[kept] / SHARES[kept].sum()).pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("bits", [31, 3])
def test_observed_and_drawn_labels_can_change_places(bits, small_circle):
    """On average over seeds a row has one class and is drawn as the other as often as the other way round."""
    small_circle(bits)
    rng, seeds, n = np.random.default_rng(3), 300, 60 if bits > 3 else 15
    batch = kc.Categorical(np.tile(SHARES, (n, 1)))
    differences = np.zeros((seeds, 4, 4, 3))
    for seed in range(seeds):
        labels = drawn_labels(batch, rng.choice(6, n, p=SHARES), 3, rng=seed).every()
        for first in range(4):
            for second in range(first):
                for k, (a, b) in enumerate(((0, 2), (0, 4), (2, 4))):
                    one, other = labels[:, first], labels[:, second]
                    difference = ((one == a) & (other == b)).sum() - ((one == b) & (other == a)).sum()
                    differences[seed, first, second, k] = difference
    error = differences.std(axis=0) / math.sqrt(seeds)
    assert (np.abs(differences.mean(axis=0)) <= 3.7 * error).all()  # 18 of them
    assert (error > 0).sum() == 18


@pytest.mark.parametrize("number", [1, 2, 3, 10, 19, 199])
def test_two_draws_lie_everywhere_apart(number):
    """Over the groups their distance is every turn but 0 once, up to its direction."""
    found = RowWords(5).turns(number)
    prime = found.before.shape[1] - 1
    turn = np.rint(found.cells * (prime / 2**31)).astype(int)
    assert turn.shape == (max(1, (prime - 1) // 2), number + 1)
    for b, c in ((0, 1), (number - 1, number), (0, number)):
        apart = (turn[:, b] - turn[:, c]) % prime
        if b != c:
            assert sorted(np.minimum(apart, prime - apart).tolist()) == list(range(1, len(turn) + 1))
    for group, (cells, places) in enumerate(zip(found.cells[:, 1:], found.places, strict=True)):
        np.testing.assert_array_equal(np.argsort(places), np.argsort(cells))
        at = np.array([0, 1, 2**30, 2**31 - 1, 2**31, int(cells[0]), int(cells[0]) + 1], dtype=np.int64)
        before = found.first_after(np.full(1, group), at[None])[0]
        np.testing.assert_array_equal(before, (cells < at[:, None]).sum(axis=1))


def test_of_many_draws_there_are_fewer_groups(monkeypatch):
    """Any of all, and no turn twice in one."""
    whole = RowWords(5).turns(199).cells
    Turns.of.cache_clear()
    monkeypatch.setattr(turns, "_MOST", 200 * 11)
    found = RowWords(5).turns(199)
    Turns.of.cache_clear()
    assert found.cells.shape == (11, 200)
    kept = [k for k in range(len(whole)) if (whole[k] == found.cells).all(axis=1).any()]
    assert len(kept) == 11
    assert kept[-1] > 30
    assert all(len(set(row)) == 200 for row in found.cells.tolist())


@pytest.mark.parametrize("bits", [31, 10])
@pytest.mark.parametrize(("classes", "number"), [(2, 1), (2, 19), (3, 2), (6, 30), (40, 9)])
def test_sums_by_turns_are_those_of_labels(classes, number, bits, small_circle, monkeypatch):
    """Also where classes have no cells, outcomes were ruled out, and cells belong to no class."""
    small_circle(bits)
    rng = np.random.default_rng(classes)
    p = rng.dirichlet(np.full(classes, 0.3), 900)
    p[:200], p[:100, 0], p[100:200, -1] = 0, 1, 1
    y = (rng.random(900)[:, None] > np.cumsum(p, axis=1)).sum(axis=1).clip(max=classes - 1)
    y[:3] = classes - 1
    batch = kc.Bernoulli(p[:, 1].copy()) if classes == 2 else kc.Categorical(p)
    found = {}
    for turned in (True, False):
        monkeypatch.setattr(ClassTotals, "turning_pays", lambda self, rows, turned=turned: turned)
        sketch = Sketch(KERNEL, engine=ENGINE, draws=number, rng=2, second_moments=False)
        found[turned] = sketch.update(y, batch).arrays()
    for name, expected in found[False].items():
        np.testing.assert_array_equal(found[True][name], expected)


@pytest.mark.parametrize("classes", [12, 13])
def test_products_of_labels_are_those_of_rows(classes, monkeypatch):
    p = np.random.default_rng(0).dirichlet(np.ones(classes), 50)
    found = []
    for most in (12, 1):
        monkeypatch.setattr(products, "_PRODUCTS_UP_TO", most)
        monkeypatch.setattr(products, "_TOGETHER", 2**8)
        found.append(Sketch(KERNEL, engine=ENGINE, draws=19).update(np.arange(50) % classes, kc.Categorical(p)))
    assert found[0].to_bytes() == found[1].to_bytes()


def test_an_outcome_that_was_ruled_out_is_counted_as_it_is():
    """By its label, though no cell belongs to it."""
    batch = kc.Categorical(np.array([[0.5, 0.0, 0.5]] * 4))
    np.testing.assert_array_equal(drawn_labels(batch, [0, 1, 2, 1], 3).every()[:, 0], [0, 1, 2, 1])


# ---- features and sums, in plain Python


def _phi(batch, engine):
    """Features of one row after the other, with whole numbers of Python."""
    rng = generator_of(engine.rng, "random Fourier features")
    x = batch.p[:, None] if isinstance(batch, kc.Bernoulli) else batch.probs
    w = np.clip(KERNEL.frequencies(rng, engine.frequencies, x.shape[1]).T, -1e30, 1e30) / (2 * np.pi)
    b = rng.uniform(0, 2 * np.pi, engine.frequencies) / (2 * np.pi)
    bits = 26 - math.ceil(math.log2(x.shape[1])) - 1 + 25
    found = []
    for row in x.tolist():
        whole = [round(Fraction(v) * 2**bits) for v in row]
        phi = []
        for k in range(engine.frequencies):
            exponent = math.frexp(max(abs(w[:, k])))[1] - 25
            product = sum(a * round(v / 2.0**exponent) for a, v in zip(whole, w[:, k].tolist(), strict=True))
            turn = float(product * Fraction(2) ** (exponent - bits)) + b[k]
            place = round((turn - math.floor(turn)) * 2**16) % 2**16
            phi.append(round(2**12 * math.cos(2 * math.pi * place / 2**16)))
        found.append(phi)
    return found


def _labels(p, y, row, rng, number):
    """Drawn labels of a row, from its place on the circle and the turns of its group."""
    key = generator_of(rng, "draws of a sketch").integers(2**64, size=2, dtype=np.uint64)

    def words(count, stream, many):
        counter = np.array([count, 0, stream, 0], dtype=np.uint64)
        return [int(w) for w in np.random.Philox(key=key, counter=counter).random_raw(many)]

    prime = next(n for n in range(number + 1, 10**6) if n > 1 and all(n % k for k in range(2, n)))
    order = words(0, 2, prime)
    injection = sorted(range(prime), key=order.__getitem__)
    place, group, *_ = words(row, 0, 4)
    group = 1 + ((group >> 32) * ((prime - 1) // 2) >> 32)
    ends, whole = 0, np.cumsum(p)[-1]
    bounds = [0, *(ends := ends + math.floor(v / whole * 2**31) for v in p)]
    place = bounds[y] + (place * (bounds[y + 1] - bounds[y]) >> 64)
    turns = [(group * step % prime << 31) // prime for step in injection]
    cells = [(place - turns[0] + turn) % 2**31 for turn in turns[1 : number + 1]]
    return [sum(cell >= bound for bound in bounds[1:-1]) for cell in cells]


@pytest.mark.parametrize("classes", [2, 4, 30])
def test_sums_are_those_of_plain_python(classes):
    """Counts, labels, features, means and diagonal: bit by bit."""
    rng, n, number = np.random.default_rng(classes), 12, 9
    p = rng.dirichlet(np.full(classes, 0.7), n)
    batch = kc.Bernoulli(p[:, 1]) if classes == 2 else kc.Categorical(p)
    p = batch.table()
    y, rows = batch.sample(rng)[0], np.array([3, 4, 5, 6, 100, 90, 7, 2**40, 8, 9, 10, 11])
    found = Sketch(KERNEL, engine=ENGINE, draws=number, rng=2).update(y, batch, rows=rows)._sums
    phi = _phi(batch, ENGINE)
    totals = np.zeros((classes, number + 1, 5), dtype=object)
    means, diagonal = np.zeros((classes, 5), dtype=object), [0] * (number + 1)
    for i in range(n):
        probabilities = [round(v * 2**31) for v in p[i].tolist()]
        size = sum(v * v for v in phi[i]) / (5 * 4**12)
        for b, label in enumerate([int(y[i]), *_labels(p[i], int(y[i]), int(rows[i]), 2, number)]):
            totals[label, b] += phi[i]
            q = [v / 2**31 for v in probabilities]
            if classes == 2:
                square = 2 * (label - q[1]) ** 2
            else:
                square = 1 - 2 * q[label] + float((np.array(q) ** 2).sum())
            diagonal[b] += round(size * square * 2**22)
        for k in range(classes):
            means[k] += [probabilities[k] * v for v in phi[i]]
    np.testing.assert_array_equal(found["totals"], totals[1:].astype(np.int64))
    np.testing.assert_array_equal(found["features"], np.sum(phi, axis=0))
    held = (found["means"][0].astype(object) * 2**32) + found["means"][1]
    np.testing.assert_array_equal(held, means[1:] if classes == 2 else means)
    np.testing.assert_array_equal(found["diagonal"], np.array(diagonal))


@pytest.mark.parametrize(
    "kernel",
    [kc.Laplacian(0.3), kc.Laplacian(0.2, metric=kc.TotalVariation()), kc.Gaussian(0.3, metric=kc.Hellinger())],
)
@pytest.mark.parametrize("classes", [2, 3, 40])
def test_features_of_a_row_do_not_depend_on_others(kernel, classes):
    """And they are cosines, to 2^-12 and places of a turn."""
    p = np.random.default_rng(0).dirichlet(np.ones(classes), 300)
    batch = kc.Bernoulli(p[:, 0].copy()) if classes == 2 else kc.Categorical(p)
    engine = kc.RandomFourier(37)
    features = WholeFeatures(engine, kernel, batch)
    whole = features.of(batch)
    for part in (slice(0, 1), slice(5, 7), slice(100, 300), slice(299, None, -3)):
        np.testing.assert_array_equal(features.of(batch[part]), whole[part])
    maps, _ = engine.maps([kernel], batch)
    expected = maps(slice(None)) / math.sqrt(2 / 37)
    slow = np.abs(engine.waves(kernel, features.whole.shape[0])[0]).max(axis=0) < 1e3
    np.testing.assert_allclose((whole / 2**12)[:, slow], expected[:, slow], atol=3e-4 if classes < 40 else 1e-2)
    assert slow.mean() > 0.8


def test_cosines_are_far_from_the_middle_of_whole_numbers():
    """So that any library of the machine rounds them alike."""
    turns = np.arange(2**16) * (2 * np.pi / 2**16)
    assert np.abs(np.abs(2**12 * np.cos(turns) % 1) - 0.5).min() > 1e-7


def _families(n=60):
    """Predictions of numbers of many laws, whose functions of a row are to be those of the row alone."""
    rng = np.random.default_rng(5)
    where, wide, share = rng.normal(size=n), rng.uniform(0.5, 3, n), rng.uniform(0.1, 0.9, n)
    factor = rng.normal(size=(n, 2, 2))
    spread = np.einsum("nij,nkj->nik", factor, factor) + np.eye(2)
    quantiles = np.sort(rng.normal(size=(n, 3)), axis=1)
    return {
        "normal": kc.Normal(where, wide),
        "gamma": kc.Gamma(wide, wide[::-1].copy()),
        "beta": kc.Beta(wide, wide[::-1].copy()),
        "student": kc.StudentT(5.0, where, wide),
        "poisson": kc.Poisson(wide),
        "negative binomial": kc.NegativeBinomial(wide, wide[::-1].copy()),
        "binomial": kc.Binomial(7, share),
        "mixture": kc.Mixture([0.5, 0.5], [kc.Normal(where, wide), kc.Normal(where + 2, 1.0)]),
        "quantiles": kc.Quantiles(quantiles, [0.2, 0.5, 0.7]),
        "vectors": MultivariateNormal(np.stack([where, -where], axis=1), spread),
    }


SLOW = ("beta", "negative binomial", "binomial", "student", "gamma")


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in _families()]
)
def test_any_family_gives_the_same_bits_in_any_order(name):
    batch = _families()[name]
    y = batch.sample(1)[0]
    empty = Sketch.like(batch, engine=ENGINE, draws=9)
    whole, order = empty.empty().update(y, batch), np.random.default_rng(0).permutation(len(batch))
    for number in (4, 60):
        parts = [empty.empty().update(y[part], batch[part], rows=part) for part in np.array_split(order, number)]
        assert sum(parts).to_bytes() == whole.to_bytes()
        found, expected = ({**one.result().to_dict(), "seconds": 0} for one in (sum(parts), whole))
        assert found == expected


def test_a_kernel_that_tells_no_classes_apart_finds_nothing():
    batch = kc.Categorical(np.random.default_rng(0).dirichlet([1, 1, 1], 30))
    sketch = Sketch(KERNEL, kc.FiniteKernel(np.ones((3, 3))), engine=ENGINE, draws=19)
    found = sketch.update(np.zeros(30, dtype=int), batch).result()
    assert (found.pvalue, float(found.estimate)) == (1.0, 0.0)


# ---- limits and messages


def test_more_rows_than_sums_hold_are_refused(monkeypatch):
    monkeypatch.setattr(sums, "MOST_ROWS", 5)
    first = Sketch(KERNEL, engine=ENGINE, draws=9).update([0, 1, 1], [0.2, 0.5, 0.9])
    with pytest.raises(InputError, match=r"adds up at most 5 rows, .* got 6: keep several sketches"):
        first.update([0, 1, 1], [0.2, 0.5, 0.9])
    second = Sketch(KERNEL, engine=ENGINE, draws=9).update([0, 1, 1], [0.2, 0.5, 0.9], first_row=9)
    with pytest.raises(InputError, match="adds up at most 5 rows"):
        first.merge(second)
    assert first.n == 3


def test_the_largest_sums_fit():
    """As many rows as are allowed, each of which adds the most that it can."""
    most = exact.MOST_ROWS
    assert most * 2**12 < 2**63  # features by label
    assert most * 2**23 < 2**63  # the diagonal of classes
    assert most * 2 ** (16 + 12) < 2**63  # features times residuals of numbers
    assert most * 2**25 < 2**63  # the diagonal of numbers
    assert most * (2**61 >> 32) < 2**63  # high digits
    assert products.BLOCK * 2 ** (31 + 12) <= 2**53  # a block of means, in double precision
    assert moments._TOGETHER * products.BLOCK * 2 ** (20 + 20) <= 2**53  # of second moments, before they are digits
    assert products.BLOCK <= products.TURNED_BLOCK
    assert products.TURNED_BLOCK * 2**12 <= 2**24  # of features by label, in single precision
    assert products.BLOCK * 2**12 <= 2**24  # of digits of the diagonal
    assert exact._ROWS * exact._LOW < 2**53  # digits of floating-point numbers


@pytest.mark.parametrize("most", [1e-3, 0.5, 1.0, 2.0, 3.0, 4.0, 4096.0, 1e5])
def test_what_a_row_adds_is_as_large_as_its_bits_allow(most):
    """Half of them at least are used, whatever the kernel between targets is multiplied by."""
    assert 2**15 < math.sqrt(most) * 2.0 ** residual_bits(most) <= 2**16
    assert 2**22 < most * 2.0 ** diagonal_bits(most) <= 2**23


@pytest.mark.parametrize("classes", [2, 5, 300])
def test_turns_of_bounded_coordinates_are_products_of_whole_numbers(classes):
    """Upper halves of coordinates times frequencies add up to less than 2^53 at the corners of their range."""
    batch = kc.Categorical(np.full((2, classes), 1 / classes))
    features = WholeFeatures(kc.RandomFourier(20), KERNEL, batch)
    upper = round(2 * 2.0**features.bits)  # of a coordinate of 2
    assert max(sum(upper * abs(round(w)) for w in column) for column in features.whole.T.tolist()) <= 2**53
    assert max(abs(round(w)) for w in features.whole.ravel().tolist()) <= 2**25


def test_what_is_no_number_is_refused_with_its_row():
    with pytest.raises(InputError, match=r"row 1 adds to the SKCE is not a number: look for .* of extreme size"):
        refuse_unknown(np.array([[0.0, 1.0], [0.0, np.nan], [np.inf, 0.0]]))
    refuse_unknown(np.zeros((2, 3)))


# ---- level


@pytest.mark.slow
def test_the_level_of_several_classes_is_exact():
    """Targets drawn by another generator from probabilities of which many are tiny: a binomial bound of 1 in 10,000."""
    runs, number, rng = 400, 19, np.random.default_rng(8)
    p = rng.dirichlet(np.full(4, 0.08), 40)
    batch, pvalues = kc.Categorical(p), []
    for run in range(runs):
        y = batch.sample(rng)[0]
        sketch = Sketch(KERNEL, engine=ENGINE, draws=number, rng=run, second_moments=False)
        pvalues.append(sketch.update(y, batch).result().pvalue)
    for level in (0.05, 0.2, 0.5):
        low, high = binom.ppf([5e-5, 1 - 5e-5], runs, level)
        found = (np.array(pvalues) <= level + 1e-9).sum()
        assert low <= found <= high
