"""Checks of kernels, metrics and closed forms find deliberate defects, and say which sentence is broken."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from array_api_compat import array_namespace

import kernelcal as kc
from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels import Kernel, Metric, PairwiseMetric, Stationary
from kernelcal.kernels.embeddings import cross_of, mean_of
from kernelcal.residuals import Radial, radial
from kernelcal.testing import check_closed_form, check_kernel, check_metric


def bites(check, subject, message, **options):
    with pytest.raises(AssertionError, match=message) as caught:
        check(subject, **options)
    told = str(caught.value)
    assert not isinstance(caught.value.__cause__, AssertionError)
    assert len(told) > 50
    assert ": " in told


# kernels


@dataclass(frozen=True)
class Cauchy(Stationary):
    """Right, and easy to break."""

    def evaluate(self, pairs):
        ops = pairs.ops
        scaled = ops.scale(pairs.squared_distance(self.metric), 1 / self.scale**2)
        return ops.power(ops.shift(scaled, 1.0), -1.0)

    def mixing(self, rng, size):
        return np.sqrt(2 * rng.standard_exponential(size))


@radial.register
def _cauchy(kernel: Cauchy, u):
    b = 1 + u / kernel.scale**2
    return Radial(1 / b, 2 / (kernel.scale * b) ** 2, -8 / (kernel.scale**4 * b**3))


def cauchy(d):
    return 1 / (1 + (d / 0.5) ** 2)


def test_the_right_kernel_passes():
    check_kernel(Cauchy(0.5), formula=cauchy)
    check_kernel(Cauchy(), libraries=())


class WrongValue(Cauchy):
    def evaluate(self, pairs):
        return pairs.ops.scale(super().evaluate(pairs), 0.9)


class WrongUnit(Cauchy):
    def evaluate(self, pairs):
        ops = pairs.ops
        return ops.power(ops.shift(ops.scale(pairs.squared_distance(self.metric), 1 / self.scale), 1.0), -1.0)


class InputUsedAgain(Cauchy):
    def evaluate(self, pairs):
        ops = pairs.ops
        d2 = pairs.squared_distance(self.metric)
        b = ops.shift(ops.scale(d2, 1 / self.scale**2), 1.0)
        return ops.add(ops.scale(ops.power(b, -1.0), 1.0), ops.scale(d2, 1e-3))


class NotSymmetric(Cauchy):
    def evaluate(self, pairs):
        k = super().evaluate(pairs)
        xp = array_namespace(k)
        return k * (1 + 1e-3 * xp.reshape(xp.arange(k.shape[-1], dtype=k.dtype), (1,) * (k.ndim - 1) + (-1,)))


class BeyondBound(Cauchy):
    def bound(self):
        return 0.5


class NoBound(Cauchy):
    def bound(self):
        return float("inf")


class NotPositive(Cauchy):
    def evaluate(self, pairs):
        ops = pairs.ops
        k = ops.scale(pairs.distance(self.metric), -0.4 / self.scale)
        return ops.shift(k, 0.2)

    def bound(self):
        return 100.0


class Single(Cauchy):
    def evaluate(self, pairs):
        k = super().evaluate(pairs)
        return array_namespace(k).astype(k, array_namespace(k).float32)


class Double(Cauchy):
    def evaluate(self, pairs):
        k = super().evaluate(pairs)
        return array_namespace(k).astype(k, array_namespace(k).float64)


class OnlyNumPy(Cauchy):
    def evaluate(self, pairs):
        return 1 / (1 + to_numpy(pairs.squared_distance(self.metric)) / self.scale**2)


class Flat(Cauchy):
    def evaluate(self, pairs):
        return super().evaluate(pairs).reshape(-1)


class Missing(Cauchy):
    def evaluate(self, pairs):
        k = super().evaluate(pairs)
        return k * float("nan") if k.ndim else k


class WrongWaves(Cauchy):
    def mixing(self, rng, size):
        return np.sqrt(rng.standard_exponential(size))


class WavesOfAnotherShape(Cauchy):
    def mixing(self, rng, size):
        return np.sqrt(2 * rng.standard_exponential((size, 1)))


class WavesOfTheirOwn(Cauchy):
    def mixing(self, rng, size):
        return np.sqrt(2 * np.random.default_rng().standard_exponential(size))


class WrongExponent(kc.Gaussian):
    exponent: ClassVar[float] = 1.0


class ForgetsParts(Cauchy):
    def map_leaves(self, function):
        return kc.Laplacian(1.0)


class WrongAmplitude(Cauchy):
    @property
    def amplitude(self):
        return 2.0


class WrongSlope(Cauchy):
    pass


@radial.register
def _wrong_slope(kernel: WrongSlope, u):
    value, slope, curvature = radial.dispatch(Cauchy)(kernel, u)
    return Radial(value, -slope, curvature)


class WrongCurvature(Cauchy):
    pass


@radial.register
def _wrong_curvature(kernel: WrongCurvature, u):
    value, slope, curvature = radial.dispatch(Cauchy)(kernel, u)
    return Radial(value, slope, curvature / 2)


@dataclass
class Changeable(Kernel):
    """Not frozen."""

    def evaluate(self, pairs):
        return pairs.equal()

    def positive_definite(self, points):
        return True

    def bound(self):
        return 1.0


@dataclass(frozen=True)
class Unsure(Kernel):
    """Answers with words."""

    def evaluate(self, pairs):
        return pairs.equal()

    def positive_definite(self, points):
        return "yes"

    def bound(self):
        return 1.0


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (WrongValue(0.5), r"its values are those of the formula\. Here the value is 0\.9"),
        (WrongUnit(0.5), "its values are those of the formula"),
        (InputUsedAgain(0.5), r"(use only their result|its values are those of the formula)"),
        (NotSymmetric(0.5), r"k\(x, y\) = k\(y, x\)"),
        (BeyondBound(0.5), r"bound\(\) bounds the absolute value\. Here a value is 1, the bound 0\.5"),
        (NoBound(0.5), r"bound\(\) is a positive number.*inf"),
        (NotPositive(0.5), "Gram matrices have no negative eigenvalue.*the least eigenvalue is -"),
        (Single(0.5), "in the dtype of the points.*float32"),
        (Double(0.5), "single precision stays single precision.*float64"),
        (OnlyNumPy(0.5), "array_api_strict gives the same values, as its own arrays.*array_namespace"),
        (Flat(0.5), r"one finite number a pair.*shape \(576,\), expected \(24, 24\)"),
        (Missing(0.5), "576 of 576 values are not finite"),
        (WrongWaves(0.5), r"mixing\(rng, size\) draws s with k = amplitude E exp.*at d = 0\.3|at d = 1"),
        (WavesOfAnotherShape(0.5), r"returned shape \(200000, 1\)"),
        (WavesOfTheirOwn(0.5), "the same seed gave other numbers"),
        (WrongExponent(0.5), "exponent is one for which the kernel is positive definite"),
        (ForgetsParts(0.5), "map_leaves with the identity gives the kernel itself"),
        (WrongAmplitude(0.5), "amplitude is the value at distance 0"),
        (WrongSlope(0.5), r"-2 f'\(u\) and -4 f''\(u\).*Here -2 f' is"),
        (WrongCurvature(0.5), r"Here -4 f'' is"),
        (Changeable(), r"it is a frozen dataclass.*write @dataclass\(frozen=True\)"),
        (Unsure(), "it returns 'yes', expected True or False"),
        ("gauss", "a kernel derives from kernelcal.kernels.Kernel"),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, str) else "",
)
def test_broken_kernels_are_found(kernel, message):
    bites(check_kernel, kernel, message, formula=cauchy if isinstance(kernel, Cauchy) else None)


def test_wrong_units_are_found_without_a_formula():
    bites(check_kernel, WrongUnit(0.5), "the lengthscale is the unit of distance", libraries=())


def test_kernels_between_labels_and_vectors_are_checked():
    a = np.array([[2.0, 1, 0], [1, 2, 0], [0, 0, 1]])
    options = {"predictions": None, "targets": None, "classes": 3}
    check_kernel(kc.FiniteKernel(a), formula=lambda x, y: a[x.astype(int), y.astype(int)][..., 0], **options)
    bites(
        check_kernel,
        kc.FiniteKernel(a),
        "between labels are those of the formula",
        formula=lambda x, y: 2 * a[x.astype(int), y.astype(int)][..., 0],
        **options,
    )
    vectors = np.random.default_rng(0).normal(size=(6, 2))
    bites(
        check_kernel,
        kc.Gaussian(1.0),
        "between targets are those of the formula",
        predictions=None,
        targets=vectors,
        formula=lambda d: np.exp(-d),
    )


# metrics


@dataclass(frozen=True)
class Ranked(Metric):
    order: ClassVar[int] = 2

    def coordinates(self, predictions):
        p = predictions.probabilities
        return array_namespace(p).cumulative_sum(p, axis=1)[:, :-1]

    def largest_exponent(self, predictions):
        return 2.0


def ranked(p, q):
    return np.sqrt(((np.cumsum(p.probabilities - q.probabilities, axis=1)[:, :-1]) ** 2).sum())


def test_the_right_metric_passes():
    check_metric(Ranked(), distance=ranked)
    check_metric(kc.Wasserstein(), predictions=normals(), refuses=[kc.Poisson([1.0, 2.0])])


def normals(n=7):
    rng = np.random.default_rng(0)
    return kc.Normal(rng.normal(size=n), rng.uniform(0.5, 2, n))


class OtherDistance(Ranked):
    def coordinates(self, predictions):
        return 2 * super().coordinates(predictions)


class WrongOrder(Ranked):
    order: ClassVar[int] = 1


class NoOrder(Ranked):
    order: ClassVar[Any] = 3


class OnlyNumPyCoordinates(Ranked):
    def coordinates(self, predictions):
        return np.cumsum(to_numpy(predictions.probabilities), axis=1)[:, :-1]


class Widened(Ranked):
    def coordinates(self, predictions):
        return super().coordinates(predictions)[:, :, None]


class OfTheBatch(Ranked):
    def coordinates(self, predictions):
        x = super().coordinates(predictions)
        return x / len(x)


class NotANumber(Ranked):
    def coordinates(self, predictions):
        return super().coordinates(predictions) * float("nan")


class LosesAClass(Ranked):
    def coordinates(self, predictions):
        return 0 * super().coordinates(predictions)


class WritesInto(Ranked):
    def coordinates(self, predictions):
        p = predictions.probabilities
        p[0] = p[1]
        return np.cumsum(p, axis=1)[:, :-1]


class NarrowCoordinates(Ranked):
    def coordinates(self, predictions):
        x = super().coordinates(predictions)
        return array_namespace(x).astype(x, array_namespace(x).float32)


class DropsGradient(Ranked):
    def coordinates(self, predictions):
        x = super().coordinates(predictions)
        return x.detach() + 0 * x if hasattr(x, "detach") else x


class ClaimsTooMuch(kc.TotalVariation):
    def largest_exponent(self, predictions):
        return 2.0

    def why_not(self, predictions):
        return ""


class SaysNothing(kc.TotalVariation):
    def why_not(self, predictions):
        return ""


class Contradicts(Ranked):
    def hilbertian(self, predictions):
        return False


class BeyondTwo(Ranked):
    def largest_exponent(self, predictions):
        return 3.0


class TakesAnything(Ranked):
    def coordinates(self, predictions):
        return predictions.mean[:, None] if predictions.mean.ndim == 1 else predictions.mean


@dataclass(frozen=True, eq=False)
class NoKey(Metric):
    order: ClassVar[int] = 2
    coordinates = Ranked.coordinates
    largest_exponent = Ranked.largest_exponent


@dataclass(frozen=True)
class Jeffreys(PairwiseMetric):
    def squared_distances(self, p, q):
        d2, v, w = (p.mean - q.mean) ** 2, p.std**2, q.std**2
        return 0.5 * ((v + d2) / w + (w + d2) / v) - 1

    def largest_exponent(self, predictions):
        return 0.0


class OneWay(Jeffreys):
    def squared_distances(self, p, q):
        d2, v, w = (p.mean - q.mean) ** 2, p.std**2, q.std**2
        xp = array_namespace(v)
        return 0.5 * ((v + d2) / w - 1 + xp.log(w / v))


class AwayFromItself(Jeffreys):
    def squared_distances(self, p, q):
        return super().squared_distances(p, q) + 0.1


class Squeezed(Jeffreys):
    def squared_distances(self, p, q):
        d2 = super().squared_distances(p, q)
        return d2 if d2.ndim == 2 else d2[:, None]


class NoNumbers(Jeffreys):
    def numbers(self, predictions):
        return 0.5


class HasCoordinates(Jeffreys):
    def coordinates(self, predictions):
        return predictions.mean[:, None]


class LosesRows(Jeffreys):
    def prepare(self, predictions):
        return predictions[:-1]


@pytest.mark.parametrize(
    ("metric", "message", "options"),
    [
        (OtherDistance(), "distances are those of the second way", {"distance": ranked}),
        (WrongOrder(), "distances are those of the second way", {"distance": ranked}),
        (NoOrder(), "(order is 1 or 2.*it is 3|tiles of ExactPairs)", {}),
        (OnlyNumPyCoordinates(), "array_api_strict gives the same distances, as its own arrays", {}),
        (Widened(), r"(coordinates\(predictions\) has shape|it computes the distances|one a pair)", {}),
        (OfTheBatch(), "distances of some rows and columns are those of the whole", {}),
        (NotANumber(), "distances are finite numbers from 0", {}),
        (LosesAClass(), "all of them are 0", {}),
        (WritesInto(), "it computes the distances of all pairs.*read-only", {}),
        (NarrowCoordinates(), "float32 for predictions in float64", {}),
        (DropsGradient(), "the derivative of distances along a direction is 0", {}),
        (ClaimsTooMuch(), "is positive definite for every c.*the least eigenvalue is -", {"predictions": "midpoints"}),
        (SaysNothing(), "why_not.*the message is ''", {}),
        (Contradicts(), "hilbertian is False and the exponent 2", {}),
        (BeyondTwo(), r"a number in \[0, 2\]\. Here it is 3", {}),
        (TakesAnything(), "predictions for which it has no meaning are refused", {"refuses": [kc.Poisson([1.0, 2.0])]}),
        (NoKey(), "a copy with the same settings is not equal to it", {}),
        (Jeffreys(), "a way round is no shorter", {"predictions": kc.Normal(np.zeros(6), 2.0 ** np.arange(6))}),
        (OneWay(), r"d\(p, q\) = d\(q, p\)", {"predictions": normals()}),
        (AwayFromItself(), "equal predictions are at distance 0", {"predictions": normals()}),
        (Squeezed(), "(pair by pair gives|broadcasts)", {"predictions": normals(), "triangle": False}),
        (NoNumbers(), "a whole number from 1. Here it is 0.5", {"predictions": normals(), "triangle": False}),
        (HasCoordinates(), "a metric by pairs has no coordinates", {"predictions": normals(), "triangle": False}),
        (LosesRows(), "(it computes the distances|one a pair)", {"predictions": normals(), "triangle": False}),
        (kc.Laplacian(), "a metric derives from kernelcal.kernels.Metric", {}),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, str | dict) else "",
)
def test_broken_metrics_are_found(metric, message, options):
    if isinstance(metric, DropsGradient):
        pytest.importorskip("torch")
    if isinstance(options.get("predictions"), str):
        corners = np.vstack([np.eye(4), (np.eye(4) + np.roll(np.eye(4), 1, 0)) / 2, np.full((1, 4), 0.25)])
        corners = np.vstack([corners, [[0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5]]])
        options = options | {"predictions": kc.Categorical(corners)}
    bites(check_metric, metric, message, **options)


def test_jeffreys_passes_where_no_triangle_is_claimed():
    check_metric(Jeffreys(), predictions=normals(), triangle=False)


# closed forms


@dataclass(frozen=True)
class Cosine(Kernel):
    """``cos(w (y - z))``, with a name of its defect."""

    frequency: float = 2.0

    def evaluate(self, pairs):
        difference = pairs.difference()
        return array_namespace(difference).cos(self.frequency * difference)

    def positive_definite(self, points):
        return True

    def bound(self):
        return 1.0


def damped(w, difference, variance):
    xp = array_namespace(difference)
    return xp.exp(-0.5 * w**2 * variance) * xp.cos(w * difference)


def mean(k, p, y):
    return damped(k.frequency, p.mean - y, p.std**2)


def cross(k, p, q):
    return damped(k.frequency, p.mean - q.mean, p.std**2 + q.std**2)


P = kc.Normal([0.0, 1.0, 0.5], [1.0, 0.5, 0.7])


def formed(name, of_mean=mean, of_cross=cross):
    kernel = dataclass(frozen=True)(type(name, (Cosine,), {"__annotations__": {}}))
    mean_of(kernel, kc.Normal)(of_mean)
    cross_of(kernel, kc.Normal, kc.Normal)(of_cross)
    return kernel(2.0)


KEPT: dict[str, Any] = {}


def kept(k, p, y):
    found = mean(k, p, y)
    return KEPT.setdefault(str(found.shape), found)


def writes(k, p, y):
    p.mean[...] = 0
    return mean(k, p, y)


def in_numpy(p, y):
    return np.cos(2 * (to_numpy(p.mean) - y)) * np.exp(-2 * to_numpy(p.std) ** 2)


def by_loop(k, p, y):
    return np.array([[float(mean(k, p[i : i + 1], np.array(t))) for t in y.ravel()] for i in range(len(p))])


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (formed("Undamped", lambda k, p, y: np.cos(2 * (p.mean - y))), r"E k\(Z, y\) is what quadrature says"),
        (formed("HalfVariance", lambda k, p, y: damped(k.frequency, p.mean - y, p.std**2 / 2)), "is what quadrature"),
        (formed("StdForVariance", lambda k, p, y: damped(k.frequency, p.mean - y, p.std)), "is what quadrature says"),
        (formed("WrongSign", lambda k, p, y: -mean(k, p, y)), "is what quadrature says"),
        (formed("OneSide", of_cross=lambda k, p, q: damped(2.0, p.mean - q.mean, p.std**2)), r"E k\(Z, Z'\) is what"),
        (formed("Plus", of_cross=lambda k, p, q: damped(2.0, p.mean + q.mean, p.std**2 + q.std**2)), "is what quad"),
        (formed("Diagonal", of_cross=lambda k, p, q: cross(k, p, q) + 0 * k.frequency + 1e-3), "is what quadrature"),
        (formed("Loop", by_loop), "(all pairs|leading axes that broadcast)"),
        (formed("Kept", kept), "(an answer is a fresh array|is what quadrature of)"),
        (formed("Writes", writes), "gives E k.*read-only"),
        (formed("NumPyOnly", lambda k, p, y: in_numpy(p, to_numpy(y))), "array_api_strict gives the same expectations"),
        (formed("NotFinite", lambda k, p, y: mean(k, p, y) / (p.std != 1)), "(values are not finite|divide by zero)"),
        (formed("Squeezes", lambda k, p, y: np.squeeze(mean(k, p, y))[..., :3]), "it has shape"),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, str) else "",
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_broken_closed_forms_are_found(kernel, message):
    with pytest.raises(AssertionError, match=message):
        check_closed_form(kernel, P)


def test_the_right_closed_form_passes():
    check_closed_form(formed("Right"), P)


def test_a_cross_of_two_families_is_compared():
    kernel = formed("TwoFamilies")
    laplace = kc.Laplace([0.0, 1.0, 0.2], [1.0, 0.4, 2.0])

    def of_laplace(k, p, y):
        xp = array_namespace(p.loc)
        return xp.cos(k.frequency * (p.loc - y)) / (1 + (k.frequency * p.scale) ** 2)

    def of_both(k, p, q, damping=0.5):
        w, xp = k.frequency, array_namespace(q.loc)
        return xp.exp(-damping * w**2 * p.std**2) * xp.cos(w * (p.mean - q.loc)) / (1 + (w * q.scale) ** 2)

    mean_of(type(kernel), kc.Laplace)(of_laplace)
    cross_of(type(kernel), kc.Laplace, kc.Laplace)(lambda k, p, q: of_laplace(k, p, q.loc) / (1 + (2 * q.scale) ** 2))
    cross_of(type(kernel), kc.Normal, kc.Laplace)(of_both)
    check_closed_form(kernel, P, other=laplace)
    check_closed_form(kernel, laplace)
    cross_of(type(kernel), kc.Normal, kc.Laplace)(lambda k, p, q: of_both(k, p, q, 1.0))
    with pytest.raises(AssertionError, match="the cross of Normal and Laplace is what quadrature says"):
        check_closed_form(kernel, P, other=laplace)


@dataclass(frozen=True)
class Unplanned(Kernel):
    scale: float = field(default=1.0)

    def evaluate(self, pairs):
        return pairs.equal()

    def positive_definite(self, points):
        return True

    def bound(self):
        return 1.0


def test_what_has_no_plan_is_said():
    with pytest.raises(
        AssertionError, match=r"Unplanned under Normal: plan\(kernel, predictions\) finds a way.*no closed form"
    ):
        check_closed_form(Unplanned(), P)
    with pytest.raises(InputError):
        kc.kernels.plan(Unplanned(), P)
