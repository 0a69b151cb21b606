"""One run, one border: every shared option is refused with one message everywhere, before data are looked at."""

import importlib.util
import inspect
from types import GenericAlias

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.cli import main
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS, DRAWS_OF_A_PASS, SIGNIFICANCE
from kernelcal.errors import InputError
from kernelcal.evaluation import plan
from kernelcal.inference import class_reliability, confidence_interval, equivalence_test, pit_test, simplex_calibration
from kernelcal.recalibration import TemperatureScaling
from kernelcal.runs import Run
from kernelcal.sketch import Sketch
from kernelcal.statistics import central_coverage, highest_density_coverage, pit_histogram, rank_histogram
from kernelcal.stream import evaluate_batches, evaluate_files, evaluate_frame
from kernelcal.stream.paths import evaluate_path


class Untouched:
    """Data that nobody may look at."""

    def _touched(self, *_, **__):
        raise AssertionError("the data were looked at before the options")

    __len__ = __iter__ = __getitem__ = __array__ = __fspath__ = __array_namespace__ = __eq__ = _touched
    __hash__ = None
    shape = dtype = ndim = columns = property(_touched)


DATA = Untouched()
TWO = {"a": DATA, "b": DATA}
NO_PAGES = importlib.util.find_spec("jinja2") is None or importlib.util.find_spec("matplotlib") is None


def needs(function):
    """A report needs the extras of its page."""
    if function.startswith("report") and NO_PAGES:
        pytest.skip("a report needs jinja2 and matplotlib")


FUNCTIONS = {
    "evaluate": lambda **o: kc.evaluate(DATA, DATA, **o),
    "evaluate_path": lambda **o: evaluate_path(DATA, **o),
    "evaluate_files": lambda **o: evaluate_files(DATA, **o),
    "evaluate_frame": lambda **o: evaluate_frame(DATA, **o),
    "evaluate_batches": lambda **o: evaluate_batches(DATA, **o),
    "compare": lambda **o: kc.compare(DATA, TWO, **o),
    "explain": lambda **o: kc.explain(DATA, DATA, **o),
    "report": lambda **o: kc.report(DATA, DATA, **o),
    "report of several": lambda **o: kc.report(DATA, TWO, **o),
    "calibration_test": lambda **o: kc.calibration_test(DATA, DATA, **o),
    "confidence_interval": lambda **o: confidence_interval(DATA, DATA, **o),
    "equivalence_test": lambda **o: equivalence_test(DATA, DATA, **{"within": 0.1, **o}),
    "measure": lambda **o: kc.measures.measure(DATA, DATA, **o),
    "pit_test": lambda **o: pit_test(DATA, DATA, **o),
    "reliability": lambda **o: kc.reliability(DATA, DATA, **o),
    "class_reliability": lambda **o: class_reliability(DATA, DATA, **o),
    "simplex_calibration": lambda **o: simplex_calibration(DATA, DATA, **o),
    "plan": lambda **o: plan(DATA, **o),
    "Sketch": lambda **o: Sketch(kc.Laplacian(0.2), **o),
    "Sketch.result": lambda **o: Sketch(kc.Laplacian(0.2)).result(**o),
    "pit_histogram": lambda **o: pit_histogram(DATA, DATA, **o),
    "rank_histogram": lambda **o: rank_histogram(DATA, DATA, **o),
    "central_coverage": lambda **o: central_coverage(DATA, DATA, **o),
    "highest_density_coverage": lambda **o: highest_density_coverage(DATA, DATA, **o),
    "TemperatureScaling": lambda objective="skce", bounds=(0.1, 10): TemperatureScaling(objective, bounds=bounds).fit(
        DATA, DATA
    ),
}
_LEVEL = "confidence_level must lie between 0 and 1, such as 0.95, got "
_ALPHA = "alpha must lie between 0 and 1, such as 0.05, got "
_DRAWN = "draws must be a positive whole number, got {}: for example 999"
_SEED = "rng must be a seed such as 0, a numpy.random.Generator or SeedSequence, or None, got "
_ENGINE = "engine must be ExactPairs(), Nystrom() or RandomFourier(), got "
SHARED = {  # option -> bad values and the message that every function gives
    "confidence_level": [(x, f"{_LEVEL}{x!r}") for x in (0, 1, 7, -0.5, np.nan, "0.9", None, True, [0.9], 95)],
    "alpha": [
        (x, f"alpha must lie between 0 and 1, such as 0.05, got {x!r}")
        for x in (0, 1, 5, -0.5, np.nan, "0.1", None, True)
    ],
    "draws": [(x, _DRAWN.format(repr(x))) for x in (0, -5, 1.5, np.nan, "99", None, True, [99])],
    "rng": [(x, f"{_SEED}{x!r}") for x in (-1, 1.5, np.nan, "seed", True, [None])],
    "early_stopping": [(x, f"early_stopping must be True or False, got {x!r}") for x in ("no", 1, None)],
    "progress": [(x, f"progress must be called as progress(done, total), got {x!r}") for x in (True, "bar", 3)],
}
TAKING = {
    "alpha": """evaluate evaluate_path evaluate_files evaluate_frame
        evaluate_batches compare explain report report_of_several
        calibration_test equivalence_test pit_test Sketch.result""",
    "confidence_level": """evaluate evaluate_path evaluate_files evaluate_frame
        evaluate_batches compare report
        report_of_several confidence_interval reliability class_reliability simplex_calibration Sketch.result
        pit_histogram rank_histogram central_coverage highest_density_coverage measure""",
    "draws": """evaluate evaluate_path evaluate_files evaluate_frame
        evaluate_batches compare explain report report_of_several
        calibration_test confidence_interval equivalence_test pit_test reliability class_reliability simplex_calibration
        plan Sketch pit_histogram rank_histogram highest_density_coverage measure""",
    "rng": """evaluate evaluate_path evaluate_files evaluate_frame
        evaluate_batches compare explain report report_of_several
        calibration_test confidence_interval equivalence_test pit_test reliability class_reliability simplex_calibration
        Sketch pit_histogram rank_histogram highest_density_coverage measure""",
    "early_stopping": "evaluate evaluate_path compare report report_of_several calibration_test pit_test",
    "progress": """evaluate evaluate_path evaluate_files evaluate_frame
        evaluate_batches compare explain report report_of_several
        calibration_test confidence_interval equivalence_test measure""",
}
ENGINES = ("evaluate", "evaluate_path", "evaluate_files", "evaluate_frame", "evaluate_batches", "plan")
LENSES = """evaluate evaluate_path evaluate_files evaluate_frame
        evaluate_batches compare explain report report_of_several
    confidence_interval equivalence_test plan measure"""


def names(text):
    return [name.replace("_of_", " of ") for name in text.split()]


@pytest.mark.parametrize(
    ("function", "option"), [(f, option) for option, taking in TAKING.items() for f in names(taking)]
)
def test_shared_options_are_refused_alike_before_data_are_looked_at(function, option):
    for value, message in SHARED[option]:
        with pytest.raises(InputError) as refused:
            FUNCTIONS[function](**{option: value})
        assert str(refused.value) == message


@pytest.mark.parametrize("function", ENGINES)
def test_engines_are_refused_alike(function):
    for value in ("nystrom", kc.ExactPairs, 3, True):
        with pytest.raises(InputError) as refused:
            FUNCTIONS[function](engine=value)
        assert str(refused.value) == f"{_ENGINE}{value!r}"


@pytest.mark.parametrize("function", names(LENSES))
def test_what_is_no_lens_is_refused_alike(function):
    needs(function)
    for value in ("top label", kc.TopLabel, 3):
        with pytest.raises(InputError) as refused:
            FUNCTIONS[function](lens=value)
        assert str(refused.value) == f"lens must be a lens such as kernelcal.TopLabel(), got {value!r}"
    with pytest.raises(InputError, match="this takes one question"):
        FUNCTIONS[function](lens=kc.ClassWise())


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        ("calibration_test", {"statistic": "kce"}, "statistic must be one of 'default'"),
        ("calibration_test", {"statistic": kc.SKCE}, "statistic must be an instance, got the class SKCE"),
        ("calibration_test", {"statistic": 3}, "statistic must be one of 'default'"),
        ("calibration_test", {"null": "permutation"}, "null must be one of 'exact', 'swap'"),
        ("calibration_test", {"null": np.nan}, "null must be one of 'exact', 'swap'"),
        ("calibration_test", {"statistic": "skce", "null": "block"}, "null='block' needs statistic=kernelcal.SKCE"),
        ("calibration_test", {"statistic": "ece", "null": "gamma"}, "null='gamma' is the law of kernelcal.SKCE"),
        ("calibration_test", {"statistic": "skce", "null": "cme"}, r"null='cme' is the law of kernelcal.UCME\(\)"),
        ("calibration_test", {"statistic": "pit", "null": "bound"}, "statistic='pit' ranks all rows alike"),
        ("calibration_test", {"statistic": "pit", "weights": DATA}, "statistic='pit' ranks all rows alike"),
        ("calibration_test", {"lens": "top label"}, "lens must be a lens such as"),
        ("confidence_interval", {"method": "jackknife"}, "method must be one of 'bootstrap', 'root'"),
        ("confidence_interval", {"method": 3}, "method must be one of 'bootstrap', 'root'"),
        ("confidence_interval", {"method": "block"}, "method='block' does not serve estimator='unbiased'"),
        (
            "confidence_interval",
            {"statistic": kc.CKCE(), "method": "root"},
            "method must be one of 'bootstrap', or 'default'",
        ),
        ("confidence_interval", {"statistic": "skce"}, "statistic must be an SKCE such as"),
        ("confidence_interval", {"statistic": kc.SKCE(estimator="biased")}, "the biased estimator has no interval"),
        ("confidence_interval", {"method": "root", "weights": DATA}, "method='root' takes no case weights"),
        ("confidence_interval", {"method": "ball", "weights": DATA}, "method='ball' takes no case weights"),
        ("equivalence_test", {"weights": DATA}, "method='root' takes no case weights: use method='bootstrap'"),
        ("confidence_interval", {"pvalue": 0}, "pvalue must lie above 0 and not above 1, got 0"),
        ("confidence_interval", {"pvalue": "0.1"}, "pvalue must lie above 0 and not above 1, got '0.1'"),
        ("confidence_interval", {"pvalue": np.nan}, "pvalue must lie above 0 and not above 1, got nan"),
        ("equivalence_test", {"within": -1}, "within must be a positive number"),
        ("equivalence_test", {"within": np.nan}, "within must be a positive number"),
        ("equivalence_test", {"statistic": kc.CKCE()}, "statistic must be an SKCE, whose root"),
        ("equivalence_test", {"method": "ckce"}, "method must be one of 'bootstrap', 'root'"),
        ("compare", {"draws": 98}, "draws must be at least 99 for intervals, got 98"),
        ("compare", {"rng": None}, "rng must be a seed, a whole number from 0: all models are given the same draws"),
        ("compare", {"within": 0}, "within must be a positive number"),
        ("compare", {"skce": kc.SKCE(estimator="biased")}, "skce must have estimator='unbiased'"),
        ("compare", {"ckce": "exact"}, "ckce must be a CKCE"),
        ("report", {"rng": np.random.default_rng(0)}, "rng must be a seed, a whole number from 0: the page names it"),
        ("report", {"within": 0}, "within must be a positive number"),
        ("report of several", {"draws": 98}, "draws must be at least 99 for intervals, got 98"),
        ("report of several", {"weights": DATA}, "takes no case weights"),
        ("report of several", {"within": "x"}, "within must be a positive number"),
        ("explain", {"statistic": "skce"}, "statistic must be an SKCE"),
        ("explain", {"witness_kernel": 0.1}, "witness_kernel must be a kernel"),
        ("explain", {"draws": 18}, "a band of confidence_level 0.95 needs at least 19 draws, got 18: better 999"),
        ("reliability", {"draws": 18}, "a band of confidence_level 0.95 needs at least 19 draws, got 18: better 999"),
        ("class_reliability", {"draws": 18}, "a band of confidence_level 0.95 needs at least 19 draws, got 18"),
        ("simplex_calibration", {"draws": 18}, "a band of confidence_level 0.95 needs at least 19 draws, got 18"),
        ("pit_histogram", {"draws": 18}, "a band of confidence_level 0.95 needs at least 19 draws, got 18"),
        ("rank_histogram", {"confidence_level": 0.9999}, "needs at least 9,999 draws, got 999: better 9,999"),
        ("reliability", {"question": "best label"}, "question must be"),
        ("reliability", {"bins": 0}, "bins must be"),
        ("simplex_calibration", {"bins": "many"}, "bins must be"),
        ("evaluate_files", {"engine": kc.Nystrom()}, "a sketch needs features of each row alone"),
        ("evaluate_files", {"sketch": {"draws": 5}}, "sketch holds 'draws', which is an option of its own"),
        ("evaluate_files", {"sketch": {"bin": 5}}, "sketch holds 'bin', which is no option of a sketch"),
        ("evaluate_files", {"sketch": "bins"}, "sketch must be a mapping of options"),
        ("evaluate_files", {"rng": None}, "rng must be a seed, a whole number from 0: all parts of the data"),
        ("evaluate_files", {"columns": "p"}, "there is no option 'columns' for rows of files and tables"),
        ("evaluate_frame", {"sketch": {"bins": -1}}, "bins must be"),
        ("evaluate_path", {"columns": "p"}, "there is no option 'columns' for rows of files and tables"),
        ("evaluate_path", {"memory": 0}, "memory is a number of bytes"),
        ("Sketch", {"second_moments": "no"}, "second_moments must be True or False"),
        ("TemperatureScaling", {"objective": "ece"}, "objective must be 'log score', 'skce'"),
        ("TemperatureScaling", {"objective": np.nan}, "objective must be 'log score', 'skce'"),
        ("TemperatureScaling", {"bounds": (2, 1)}, "bounds must be two temperatures"),
    ],
)
def test_other_options_are_refused_before_data_are_looked_at(function, options, message):
    with pytest.raises(InputError, match=message):
        FUNCTIONS[function](**options)


def test_the_data_are_looked_at_where_all_options_are_right():
    """The tests above would pass as well if nothing looked at the data."""
    for name, function in FUNCTIONS.items():
        without = ("Sketch", "Sketch.result", "evaluate_frame", "evaluate_batches")
        if name not in without and not (name.startswith("report") and NO_PAGES):
            with pytest.raises(AssertionError, match="looked at"):
                function()


@pytest.mark.parametrize("command", ["evaluate", "test", "compare", "report"])
def test_the_command_line_refuses_with_the_same_words_before_files_are_opened(capsys, command):
    bad = [("--draws", "0", _DRAWN.format(0)), ("--draws", "-5", _DRAWN.format(-5))]
    if command != "test":
        bad += [("--confidence-level", x, f"{_LEVEL}{float(x)!r}") for x in ("7", "0", "1", "nan", "-1")]
    if command in ("compare", "report"):
        bad.append(("--within", "-1", "within must be a positive number, such as 0.05 of probability, got -1.0"))
    bad.append(("--lens", "best", "unknown lens 'best': top-label, top-K, class:NAME, "))
    if command != "test":
        bad.append(
            ("--lens", "class-wise", "--lens class-wise asks a question of every class, which kernelcal test answers")
        )
    for option, value, message in bad:
        assert main([command, "there-is-no-such-file.csv", f"{option}={value}"]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"kernelcal: {message}"), said


def test_names_on_the_command_line_that_do_not_go_together_are_refused_before_files_are_opened(capsys):
    for arguments, message in (
        (["--statistic", "skce", "--null", "block"], "--null block needs statistic="),
        (["--statistic", "pit", "--weights", "w"], "--statistic pit ranks all rows alike"),
        (["--statistic", "ece", "--engine", "nystrom"], "--engine chooses how pairs are summed"),
        (["--statistic", "pit", "--engine", "nystrom"], "--engine chooses how pairs are summed"),
        (["--statistic", "ckce", "--engine", "nystrom"], "engine of a CKCE must be ExactPairs(), RandomFourier(100)"),
        (["--features", "8"], "--features 8 needs an engine that has features"),
    ):
        assert main(["test", "there-is-no-such-file.csv", *arguments]) == 2
        assert message in capsys.readouterr().err


def test_a_run_holds_plain_values():
    run = Run(confidence_level=np.float64(0.9), draws=np.int64(99))
    assert (type(run.confidence_level), type(run.draws)) == (float, int)
    assert (Run().confidence_level, Run().draws, SIGNIFICANCE) == (CONFIDENCE_LEVEL, DRAWS, 0.05)
    assert Run(draws=50).with_at_least(99).draws == 99
    assert Run(draws=500).with_at_least(99).draws == 500
    assert Run(rng=np.int64(3)).seed("x") == 3


def test_parts_share_one_seed_whatever_rng_is():
    for rng in (3, np.random.SeedSequence(3), [1, 2]):
        assert Run(rng=rng).shared().rng is rng
    generator = np.random.default_rng(3)
    first, second = Run(rng=generator).shared(), Run(rng=generator).shared()
    assert isinstance(first.rng, int)
    assert first.rng != second.rng  # a generator moves on
    assert Run(rng=np.random.default_rng(3)).shared().rng == first.rng
    assert Run(rng=None).shared().rng != Run(rng=None).shared().rng
    rng = np.random.default_rng(0)
    p = rng.uniform(size=60)
    y = kc.Bernoulli(p).sample(rng)[0]
    found = kc.evaluate(y, p, draws=99, rng=np.random.default_rng(3))
    alike = kc.evaluate(y, p, draws=99, rng=first.rng)
    assert (found.pvalue, found.interval) == (alike.pvalue, alike.interval)


@pytest.mark.slow
@pytest.mark.skipif(NO_PAGES, reason="a report needs jinja2")
def test_the_border_is_crossed_once(monkeypatch, unrendered):
    crossed = []
    real = Case.of.__func__
    monkeypatch.setattr(Case, "of", classmethod(lambda cls, *a, **o: crossed.append(1) or real(cls, *a, **o)))
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 60)
    y, other = kc.Categorical(p).sample(rng)[0], p[:, ::-1].copy()
    x = kc.Normal(rng.normal(size=60), 1.0)
    z = x.sample(rng)[0]
    calls = {
        "evaluate": (lambda: kc.evaluate(y, p, draws=99, weights=np.ones(60)), 1),
        "evaluate numbers": (lambda: kc.evaluate(z, x, draws=99), 1),
        "compare": (lambda: kc.compare(y, {"a": p, "b": other}, draws=99), 2),
        "explain": (lambda: kc.explain(y, p, draws=99, groups=np.arange(60) % 2), 1),
        "report": (lambda: kc.report(y, p, draws=99, groups=np.arange(60) % 2), 1),
        "report numbers": (lambda: kc.report(z, x, draws=99), 1),
        "report of several": (lambda: kc.report(y, {"a": p, "b": other}, draws=99), 2),
        "calibration_test": (lambda: kc.calibration_test(y, p, draws=99, lens=kc.ClassWise()), 1),
        "confidence_interval": (lambda: confidence_interval(y, p, draws=99), 1),
        "equivalence_test": (lambda: equivalence_test(y, p, within=0.1), 1),
        "pit_test": (lambda: pit_test(z, x, draws=99), 1),
        "reliability": (lambda: kc.reliability(y, p, draws=99), 1),
        "simplex_calibration": (lambda: simplex_calibration(y, p, draws=99), 1),
        "TemperatureScaling": (lambda: TemperatureScaling("skce").fit(y, p), 1),
        "ClassWise": (lambda: kc.ClassWise()(y, p), 1),
    }
    for name, (call, times) in calls.items():
        crossed.clear()
        call()
        assert len(crossed) == times, name


def test_one_default_each():
    """No function has a level or a number of draws of its own."""
    for module in (kc, kc.inference, kc.statistics, kc.stream, kc.explanation, kc.plots, kc.evaluation):
        for name in getattr(module, "__all__", ()):
            member = getattr(module, name)
            if callable(member) and not isinstance(member, type | GenericAlias):
                parameters = inspect.signature(member).parameters
                assert not {"level", "confidence", "interval_level"} & set(parameters), name
                if "confidence_level" in parameters:
                    assert parameters["confidence_level"].default in (CONFIDENCE_LEVEL, inspect.Parameter.empty), name
                # draws that find a region, and draws that a null law made
                if "draws" in parameters and name not in ("highest_density_coverage", "one_member"):
                    assert parameters["draws"].default in (DRAWS, DRAWS_OF_A_PASS, inspect.Parameter.empty), name


def test_a_case_is_what_was_given():
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    case = Case.of(["b", "b", "c"], p, classes=["a", "b", "c"], weights=[1, 1, 4])
    assert case.targets.tolist() == [1, 1, 2]
    assert case.weights.tolist() == [0.5, 0.5, 2]
    assert len(case) == 3
    some = case[np.array([2, 0])]
    assert (some.targets.tolist(), some.weights.tolist(), len(some.predictions)) == ([2, 1], [2, 0.5], 2)
    assert case.in_numpy is case.in_numpy
    assert case.in_numpy.in_numpy is case.in_numpy
    assert case.through(None) is case
    seen = case.through(kc.TopLabel())
    assert seen.targets.tolist() == [0, 1, 1]
    assert seen.weights is case.weights
    assert seen.predictions.question == "top label"
    assert case.without_names().predictions.classes is None
    with pytest.raises(InputError, match="a lens asks about classes, and Normal predicts numbers"):
        Case.of([1.0], kc.Normal([0.0], 1.0), lens=kc.TopLabel())
    with pytest.raises(AttributeError):
        case.targets = None
