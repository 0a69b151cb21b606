"""Seeds and streams: every function draws from a stream of its own purpose, never from one that a caller has."""

import ast
import copy
import importlib
import inspect
import pkgutil
import sys
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal import kernels, predictions, statistics
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.inference import Draws
from kernelcal.randomness import generator_of, refuse_no_source, some_rows
from kernelcal.runs import Run

P = kc.Normal(np.zeros(20), 1.0)
PLAIN = np.random.default_rng(0).random(8)
SOURCE = Path(kc.__file__).resolve().parent


# ---- sources of random numbers


def test_seeds_and_generators_serve():
    first = generator_of(3, "sample").random(4)
    for rng in (3, np.int64(3), np.random.SeedSequence(3)):
        np.testing.assert_array_equal(generator_of(rng, "sample").random(4), first)
    given = [generator_of(np.random.default_rng(3), "sample").random(4) for _ in range(2)]
    np.testing.assert_array_equal(*given)  # the same state, the same numbers


def test_a_seed_stands_still_and_a_generator_moves_on():
    np.testing.assert_array_equal(P.sample(5), P.sample(5))
    moving = np.random.default_rng(5)
    assert not np.array_equal(P.sample(moving), P.sample(moving))
    children = np.random.SeedSequence(5).spawn(2)
    assert not np.array_equal(P.sample(children[0]), P.sample(children[1]))
    assert not np.array_equal(P.sample(), P.sample())


def test_some_rows_are_from_everywhere_and_in_no_rhythm():
    """Every k-th row, evenly spaced ones and multiples of the golden ratio see one kind of rows only, for some n."""
    for n in (*range(401, 3000, 13), 399 * 10 + 1, 2 * 2584, 2 * 4181, 54_120):
        rows = some_rows(n, 400)
        assert (np.diff(rows) > 0).all()
        assert rows[0] >= 0
        assert rows[-1] < n
        assert np.diff(rows, prepend=-1, append=n).max() <= 2 * n / 400 + 1
        for period in (2, 3, 7, 10):
            shares = np.bincount(rows % period, minlength=period) / len(rows)
            assert np.abs(shares - 1 / period).max() < 5 * np.sqrt((1 - 1 / period) / period / len(rows)), (n, period)
    np.testing.assert_array_equal(some_rows(7, 7), np.arange(7))


def test_a_check_moves_no_generator():
    given = np.random.default_rng(1)
    refuse_no_source(given)
    Run(rng=given)
    assert given.random() == np.random.default_rng(1).random()


def test_the_seed_of_all_parts_is_drawn_once():
    shared = Run(rng=np.random.default_rng(1)).shared()
    assert isinstance(shared.rng, int)
    assert shared.shared() is shared
    assert Run(rng=4).shared().rng == 4


@pytest.mark.parametrize("rng", ["seed", -1, 1.5, [None]])
@pytest.mark.parametrize(
    "call",
    [
        lambda rng: P.sample(rng),
        lambda rng: kc.calibration_test(np.zeros(20), P, rng=rng),
        lambda rng: kc.evaluate(np.zeros(20), P, rng=rng),
    ],
)
def test_anything_else_is_refused(call, rng):
    with pytest.raises(InputError, match="rng must be a seed such as 0"):
        call(rng)


# ---- every public function with rng=


HANDED_ON = {  # draw nothing themselves, or take numbers that a caller has drawn
    "Run": "checks the seed and hands it on",
    "refuse_no_source": "checks the seed",
    "generator_of": "is what makes the streams",
    "Recalibrator": "hands the seed on to `recalibrate`",
    "RankTable.case": "hands the seed of ties on",
    "OnePass.of": "hands the seed on to its sketch",
    "read_ranks": "hands the seed of ties on",
}
OWN = np.random.default_rng(99)
N = 60
RISK = OWN.uniform(size=N)
EVENT = (OWN.random(N) < RISK).astype(int)
PROBS = OWN.dirichlet([1.0, 1.0, 1.0], N)
LABELS = np.array([OWN.choice(3, p=p) for p in PROBS])
MEAN, NUMBER = OWN.normal(size=(2, N))
NORMAL, COUNTS = kc.Normal(MEAN, 1.0), kc.Poisson(np.exp(MEAN))
COUNT = np.floor(np.exp(NUMBER))
DRAWS = kc.Samples(OWN.integers(0, 4, (N, 5)).astype(float))
RANKED = OWN.integers(0, 4, N).astype(float)
MIXED = kc.Mixture([0.5, 0.5], [NORMAL, kc.Normal(MEAN + 3, 0.5)])
QUARTIC = kc.UnnormalizedDensity(
    lambda y, a: -((y - a) ** 4), np.array([0.0, 5.0]), gradient=lambda y, a: -4 * (y - a) ** 3
)
POSTERIOR = OWN.normal(size=(N, 9, 1))
VECTORS = kc.Samples(OWN.normal(size=(N, 7, 2)))
TEST = {"draws": 99, "rng": 0}


def fisher(metric):
    return kc.median_lengthscale(MIXED, metric=metric)


def sketched():
    return kc.Sketch(kc.Laplacian(0.2), engine=kc.RandomFourier(8), draws=50, rng=0).update(EVENT, RISK).result()


def written(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("label,p\n" + "".join(f"{y},{p}\n" for y, p in zip(EVENT, RISK, strict=True)))
    return path


def read_in_parts(tmp_path):
    from kernelcal.stream import evaluate_files

    pytest.importorskip("pyarrow")
    return evaluate_files([written(tmp_path)], target="label", **TEST)


def read_batches(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    from kernelcal.stream import evaluate_batches

    table = pd.read_csv(written(tmp_path))
    return evaluate_batches([table.assign(id=range(N))], key="id", target="label", **TEST)


def read_partitions(tmp_path):
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    from kernelcal.stream import evaluate_frame

    return evaluate_frame(dd.from_pandas(pd.read_csv(written(tmp_path)), npartitions=2), target="label", **TEST)


def page(tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    return kc.report(NUMBER, NORMAL, tmp_path / "page.html", **TEST)


CALLS = {  # every public function or class that takes rng=, called so that it draws; the seed is 0
    "DirichletModel.sample": lambda: kc.datasets.m1(3).sample(20, rng=0),
    "Draws": lambda: Draws(0, "draws of a test"),
    "FisherDivergence": lambda: fisher(kc.FisherDivergence("standard", size=7, rng=0)),
    "KernelFisherDivergence": lambda: fisher(kc.KernelFisherDivergence(kc.Gaussian(1.0), "standard", size=7, rng=0)),
    "Monitor": lambda: kc.Monitor(rng=0).update(COUNT, COUNTS),
    "MonteCarlo": lambda: kc.MonteCarlo(9, rng=0).embedding(kc.Gaussian(1.0), NORMAL),
    "Nystrom": lambda: kc.skce(EVENT, RISK, engine=kc.Nystrom(5, rng=0)),
    "Predictions.sample": lambda: NORMAL.sample(rng=0),
    "QuantileCalibration.band": lambda: statistics.quantile_calibration(NUMBER, NORMAL).band(**TEST),
    "Recalibration.check": lambda: kc.recalibration.recalibrate(EVENT, RISK, **TEST).check(1 - EVENT, 1 - RISK, **TEST),
    "RandomFourier": lambda: kc.skce(EVENT, RISK, engine=kc.RandomFourier(5, rng=0)),
    "Sketch": sketched,
    "SlicedWasserstein": lambda: kc.median_lengthscale(
        kc.DiagonalNormal(np.column_stack([MEAN, MEAN**2]), np.ones((len(MEAN), 2))),
        metric=kc.kernels.SlicedWasserstein(7, rng=0),
    ),
    "Spectral": lambda: kc.skce(NUMBER, NORMAL, target_kernel=kc.Spectral(kc.Laplacian(0.371), 11, rng=0)),
    "UCME": lambda: statistics.UCME(location_rng=0)(NUMBER, NORMAL),
    "calibration_curve": lambda: kc.measures.calibration_curve(EVENT, RISK, **TEST),
    "calibration_test": lambda: kc.calibration_test(EVENT, RISK, **TEST),
    "class_reliability": lambda: kc.class_reliability(LABELS, PROBS, **TEST),
    "clinical_table": lambda: kc.measures.clinical_table(EVENT, RISK, **TEST),
    "compare": lambda: kc.compare(EVENT, {"a": RISK, "b": RISK**2}, **TEST),
    "confidence_interval": lambda: kc.confidence_interval(EVENT, RISK, method="bootstrap", **TEST),
    "draw_locations": lambda: statistics.draw_locations(NORMAL, rng=0),
    "equivalence_test": lambda: kc.equivalence_test(EVENT, RISK, within=0.3, method="bootstrap", **TEST),
    "evaluate": lambda: kc.evaluate(NUMBER, NORMAL, **TEST),
    "evaluate_files": read_in_parts,
    "evaluate_batches": read_batches,
    "evaluate_frame": read_partitions,
    "explain": lambda: kc.explain(EVENT, RISK, **TEST),
    "ground_lengthscale": lambda: kernels.ground_lengthscale(MIXED, rng=0),
    "highest_density_coverage": lambda: kc.highest_density_coverage(NUMBER, MIXED, **TEST),
    "langevin_draws": lambda: kc.langevin_draws(QUARTIC, 5, steps=2, step_size=0.1, rng=0),
    "measure": lambda: kc.measures.measure(EVENT, RISK, "oe", **TEST),
    "median_lengthscale": lambda: kc.median_lengthscale(RISK, max_rows=9, rng=0),
    "normal_locations": lambda: statistics.normal_locations(NORMAL, 3, rng=0),
    "pit": lambda: kc.pit(COUNT, COUNTS, rng=0),
    "pit_values_test": lambda: kc.ranks.pit_values_test(RISK, **TEST),
    "pit_histogram": lambda: kc.pit_histogram(COUNT, COUNTS, **TEST),
    "pit_of": lambda: statistics.pit_of(Case.of(COUNT, COUNTS), 0),
    "pit_test": lambda: kc.pit_test(COUNT, COUNTS, **TEST),
    "posterior_test": lambda: kc.ranks.posterior_test(NUMBER[:, None], POSTERIOR, **TEST),
    "quantile_calibration": lambda: kc.quantile_calibration(COUNT, COUNTS, rng=0),
    "quantile_calibration_of": lambda: statistics.quantile_calibration_of(
        Case.of(COUNT, COUNTS), np.array([0.25, 0.5]), 0
    ),
    "rank_histogram": lambda: kc.rank_histogram(RANKED, DRAWS, **TEST),
    "rank_test": lambda: kc.ranks.rank_test(RANKED.astype(int), 5, **TEST),
    "ranks_of_draws": lambda: kc.ranks.ranks_of_draws(NUMBER[:, None], POSTERIOR, rng=0),
    "recalibrate": lambda: kc.recalibration.recalibrate(EVENT, RISK, **TEST),
    "reliability": lambda: kc.reliability(EVENT, RISK, **TEST),
    "report": page,
    "risk_coverage": lambda: kc.measures.risk_coverage(EVENT, RISK, **TEST),
    "simplex_calibration": lambda: kc.simplex_calibration(LABELS, PROBS, **TEST),
    "ucme": lambda: kc.ucme(NUMBER, NORMAL, location_rng=0),
    "vectors_test": lambda: kc.ranks.vectors_test(NUMBER[:, None] * [1.0, 0.5], VECTORS, **TEST),
}
WHOLE = {  # use the streams of parts
    *("compare", "evaluate", "evaluate_batches", "evaluate_files", "evaluate_frame", "explain", "report"),
}
SHARED = {  # purposes that several functions have, since they are to have the same numbers
    "PIT values": {
        *("pit", "pit_of", "pit_histogram", "pit_test", "quantile_calibration", "quantile_calibration_of"),
        *("QuantileCalibration.band", "pit_values_test", "posterior_test", "rank_test"),
    },
    "centre of PIT values": {"pit_test", "posterior_test", "rank_test"},
    "draws of the PIT test": {"pit_test", "pit_values_test", "posterior_test", "rank_test"},
    "ties of ranks": {"posterior_test", "ranks_of_draws"},
    "draws of measures": {"clinical_table", "measure", "risk_coverage"},
    "draws of a calibration curve": {"calibration_curve", "clinical_table"},
    # an interval tests 0 first
    "draws of a test": {
        *("Draws", "calibration_test", "confidence_interval", "vectors_test"),
        *("recalibrate", "Recalibration.check"),
    },
    "blocks of a forward test": {"recalibrate", "Recalibration.check"},  # a map is fitted before it is checked
    "folds of a recalibration": {"recalibrate", "Recalibration.check"},
    "draws of an interval": {"confidence_interval", "equivalence_test"},
    "draws of the band of a curve": {"class_reliability", "reliability"},
    "points of a base measure": {"FisherDivergence", "KernelFisherDivergence"},
    "random Fourier features": {"RandomFourier", "Sketch"},
    "test locations": {"UCME", "draw_locations", "ucme"},
    "sample": {"DirichletModel.sample", "Predictions.sample", "UCME", "draw_locations", "ground_lengthscale", "ucme"},
}


def takes_rng(function):
    """Whether there is a parameter for a source of random numbers, and not for the generator of a caller."""
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any("rng" in p.name.split("_") and p.annotation != "np.random.Generator" for p in given)


def public():
    """Names of all that takes rng= behind the doors of the package and of its packages."""
    names = [module.name for module in pkgutil.iter_modules(kc.__path__) if not module.name.startswith("_")]
    doors = [importlib.import_module(f"kernelcal.{name}") for name in names if name not in ("cli", "testing")]
    found = set()
    for door in (kc, *doors):
        for name in door.__all__ if hasattr(door, "__all__") else ():
            thing = getattr(door, name)
            inner = [getattr(thing, key, None) for key in dir(thing) if not key.startswith("_")]
            for one in (thing, *(inner if inspect.isclass(thing) else ())):
                if callable(one) and takes_rng(one):
                    found.add(one.__qualname__)
    return found


def test_the_table_knows_every_public_function_with_a_seed():
    assert public() - set(HANDED_ON) == set(CALLS)


@pytest.fixture
def streams(monkeypatch):
    """What is drawn from: purpose, source, and the first numbers, of every generator that is made."""
    made = []

    def recorded(rng, purpose):
        found = generator_of(rng, purpose)
        made.append((purpose, rng, copy.deepcopy(found).random(8)))
        return found

    for name, module in list(sys.modules.items()):
        if name.startswith("kernelcal") and getattr(module, "generator_of", None) is generator_of:
            monkeypatch.setattr(module, "generator_of", recorded)
    return made


def called(name, tmp_path):
    call = CALLS[name]
    return call(tmp_path) if inspect.signature(call).parameters else call()


@pytest.mark.parametrize("name", sorted(CALLS))
def test_no_public_function_draws_from_the_stream_of_a_caller(name, streams, tmp_path):
    called(name, tmp_path)
    assert streams, "nothing was drawn: call it so that it draws"
    seen = {tuple(np.random.default_rng(0).random(8))}
    by_purpose = {}
    for purpose, rng, numbers in streams:
        assert not np.isin(numbers, PLAIN).any()
        if isinstance(rng, int) and rng == 0:
            assert by_purpose.setdefault(purpose, tuple(numbers)) == tuple(numbers)  # SPEC 7: a seed stands still
    assert len(seen | set(by_purpose.values())) == len(by_purpose) + 1


@pytest.mark.slow
def test_functions_have_purposes_of_their_own(streams, tmp_path):
    users = {}
    for name in sorted(set(CALLS) - WHOLE):
        del streams[:]
        called(name, tmp_path)
        for purpose, _, _ in streams:
            users.setdefault(purpose, set()).add(name)
    users.pop("factors of a hash", None)  # of rows; those of probabilities are made once a process
    assert {purpose: names for purpose, names in users.items() if len(names) > 1} == SHARED


def test_what_is_asked_of_the_same_data_draws_apart():
    """Uniform numbers of a sample, of PIT values, and of the draws of tests, intervals and bands, all of seed 0."""
    purposes = ("draws of a test", "draws of the PIT test", "draws of an interval", "draws of an explanation")
    sets = [Draws(0, purpose).uniforms(0, 1, 8)[0] for purpose in purposes]
    sets += [generator_of(0, purpose).random(8) for purpose in ("sample", "PIT values", "data set")]
    numbers = np.concatenate([PLAIN, *sets])
    assert len(np.unique(numbers)) == len(numbers)


# ---- nothing bypasses it


ALLOWED = {"randomness.py": "makes the streams", "testing/": "simulates data of its own, as users do"}


@pytest.mark.slow
def test_no_module_makes_a_generator_itself():
    """Every generator comes from generator_of; docstrings, which show what users do, are no code."""
    makers = {"default_rng", "RandomState", "SeedSequence", "PCG64", "MT19937"}
    for path in sorted(SOURCE.rglob("*.py")):
        inside = path.relative_to(SOURCE).as_posix()
        text = path.read_text()
        if inside.startswith(tuple(ALLOWED)) or not any(maker in text for maker in makers):
            continue
        for node in ast.walk(ast.parse(text)):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            assert name not in makers, (
                f"{inside}:{node.lineno} makes a generator: kernelcal.randomness.generator_of(rng, purpose) does"
            )


@pytest.mark.slow
def test_every_purpose_is_one_text_and_keys_differ():
    import zlib

    found, takers = {}, ("generator_of", "Draws", "KeptDraws", "band_draws")
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if any(f"{taker}(" in text for taker in takers) else ():
            called = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if called in takers:
                purpose = node.args[2 if called == "band_draws" else 1]
                if isinstance(purpose, ast.Constant):
                    found.setdefault(zlib.crc32(purpose.value.encode()), set()).add(purpose.value)
                else:
                    assert path.name in ("draws.py", "redrawn.py"), f"{path}:{node.lineno}: the purpose must be a text"
    assert len(found) > 25
    assert all(len(texts) == 1 for texts in found.values())


# ---- data of a caller with the seed of the library


def test_data_simulated_with_the_same_seed_are_like_others():
    """Inverse transform of default_rng(0), and sample(rng=0), against tests whose seed is 0 too."""
    from scipy import stats

    for n in (100, 200, 300):
        rates = stats.gamma(2).rvs(n, random_state=n)
        batch = predictions.Poisson(rates)
        plain = stats.poisson(rates).ppf(np.random.default_rng(0).random(n))
        for y in (plain, batch.sample(rng=0)[0]):
            values = kc.pit(y, batch)
            low, high = statistics.pit_intervals(y, batch)
            places = (values - low) / (high - low)
            assert abs(stats.spearmanr(places, np.random.default_rng(0).random(n)).statistic) < 3.3 / np.sqrt(n)
            assert abs(stats.spearmanr(places, y).statistic) < 3.3 / np.sqrt(n)
            assert kc.pit_test(y, batch).pvalue > 0.001
