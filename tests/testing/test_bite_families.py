"""The check of a family finds deliberate defects, in families of classes and of numbers."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit

import kernelcal as kc
from kernelcal.arrays import namespace, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import ClassPredictions, RealPredictions, trusted
from kernelcal.predictions.base import checked_index
from kernelcal.predictions.border import finite_numbers, inside, positive_numbers
from kernelcal.testing import check_family

# classes


@dataclass(frozen=True, eq=False)
class Binomial(ClassPredictions):
    """Right: a number of hits as an ordered class."""

    p: Any
    trials: int = 3
    classes: tuple | None = None
    notes: tuple = ()

    def __post_init__(self):
        p = finite_numbers(self.p, "the hit probability", ndim=1)
        if not np.all((to_numpy(p) >= 0) & (to_numpy(p) <= 1)):
            raise InputError("a hit probability lies outside of [0, 1]: correct the row")
        object.__setattr__(self, "p", p)

    def __len__(self):
        return int(self.p.shape[0])

    def __getitem__(self, index):
        return trusted(self, p=take_rows(self.p, checked_index(index)))

    def map_arrays(self, function):
        return trusted(self, p=function(self.p))

    @property
    def n_classes(self):
        return self.trials + 1

    @property
    def probabilities(self):
        xp = namespace(self.p)
        parts = [
            math.comb(self.trials, k) * self.p**k * (1 - self.p) ** (self.trials - k) for k in range(self.trials + 1)
        ]
        return xp.stack(parts, axis=1)

    def probability_of(self, labels):
        return to_numpy(self.probabilities)[np.arange(len(self)), labels]

    def log_prob(self, y):
        with np.errstate(divide="ignore"):
            return np.log(self.probability_of(to_numpy(y)))


P = np.array([0.2, 0.5, 0.9, 0.7, 0.35])


def test_the_right_family_of_classes_passes():
    check_family(Binomial(P), refuses=[lambda: Binomial([1.2]), lambda: Binomial([float("nan")])])


class NotOne(Binomial):
    @property
    def probabilities(self):
        return 0.9 * super().probabilities


class ForgetsFactor(Binomial):
    def probability_of(self, labels):
        p = to_numpy(self.p)
        return p**labels * (1 - p) ** (self.trials - labels)


class LogOfAnother(Binomial):
    def log_prob(self, y):
        return super().log_prob(self.trials - to_numpy(y))


class DrawsAnother(Binomial):
    def draw(self, uniforms):
        return (self.trials - super().draw(uniforms)).astype(np.uint8)


class DrawsAnew(Binomial):
    def draw(self, uniforms):
        return super().draw(np.random.default_rng().random(uniforms.shape))


class DrawsByPlace(Binomial):
    def draw(self, uniforms):
        return super().draw((uniforms + 0.1 * np.arange(len(self))) % 1)


class DrawsColumns(Binomial):
    def draw(self, uniforms):
        return super().draw(uniforms)[..., None]


class WritesUniforms(Binomial):
    def draw(self, uniforms):
        uniforms *= 0.5
        return super().draw(uniforms)


class LosesNotes(Binomial):
    def __getitem__(self, index):
        return Binomial(self.p[checked_index(index)], self.trials)


class OffByOneRows(Binomial):
    def __getitem__(self, index):
        rows = np.arange(len(self))[checked_index(index)]
        return trusted(self, p=take_rows(self.p, np.minimum(rows + 1, len(self) - 1)))


class RowAlone(Binomial):
    def __getitem__(self, index):
        return trusted(self, p=np.atleast_1d(self.p[index]))


class MapsNothing(Binomial):
    def map_arrays(self, function):
        return self


class RulesOut(Binomial):
    def impossible(self, y):
        return self.probability_of(y) < 0.3


class OneClass(Binomial):
    @property
    def n_classes(self):
        return self.trials


class Temperature(Binomial):
    def tempered(self, temperature):
        return trusted(self, p=self.p ** (1 / temperature))


class NoWords(Binomial):
    def in_words(self, y):
        return super().in_words(y)[0][:1], super().in_words(y)[1]


class OnlyNumPy(Binomial):
    @property
    def probabilities(self):
        return (
            trusted(self, p=to_numpy(self.p)).__class__.__mro__[1].probabilities.fget(trusted(self, p=to_numpy(self.p)))
        )


class WrongTop(Binomial):
    def top_labels(self):
        return super().probabilities.argmin(axis=1)


class RepairsInSilence(Binomial):
    def __post_init__(self):
        object.__setattr__(self, "p", np.clip(np.nan_to_num(np.asarray(self.p, dtype=float)), 0, 1))


@dataclass(frozen=True)
class Compared(Binomial):
    pass


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (NotOne, "the sum of a row is 0.9"),
        (ForgetsFactor, "probability_of.labels. looks up the probabilities"),
        (LogOfAnother, "log_prob.y. is the logarithm of the probability of the labels"),
        (DrawsAnother, "drawn with their probabilities. Here class 0 of row 0 was drawn in"),
        (DrawsAnew, "the same uniform numbers give the same targets"),
        (DrawsByPlace, "a target of rows 3 and 1 alone"),
        (DrawsColumns, r"it has shape \(6, 5, 1\), expected \(6, 5\)"),
        (WritesUniforms, "draw.uniforms. turns numbers.*read-only"),
        (LosesNotes, "(it is a Binomial|notes or question were lost)"),
        (OffByOneRows, "(takes rows from everything|of rows 3 and 1 alone)"),
        (RowAlone, "one row alone is no batch"),
        (MapsNothing, "it applies the function to nothing"),
        (RulesOut, "(drawn targets are ruled out|have probability 0)"),
        (OneClass, "(they have shape|It raised)"),
        (Temperature, "tempered.T. gives predictions p.*a probability at T"),
        (NoWords, "in_words.y. gives a text for every prediction"),
        (OnlyNumPy, "arrays of array_api_strict give the same answers, and stay in it"),
        (WrongTop, "the most probable classes"),
        (RepairsInSilence, "refused at the border.*such a batch was accepted"),
        (Compared, "not compared by its arrays.*write eq=False"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_broken_families_of_classes_are_found(family, message):
    with pytest.raises(AssertionError, match=message) as caught:
        check_family(family(P, notes=("a note",)), refuses=[lambda: family([1.5, 0.2])])
    assert str(caught.value).startswith(family.__name__)


def test_what_is_no_family_is_said():
    with pytest.raises(
        AssertionError, match=r"derives from ClassPredictions or RealPredictions\. Here it is a ndarray"
    ):
        check_family(P)
    with pytest.raises(AssertionError, match=r"at least 4 for this check\. Here it is 2"):
        check_family(Binomial(P[:2]))


# numbers


@dataclass(frozen=True, eq=False)
class Logistic(RealPredictions):
    """Right."""

    loc: Any
    scale: Any
    notes: tuple = field(default=(), kw_only=True)

    def __post_init__(self):
        object.__setattr__(self, "loc", finite_numbers(self.loc, "the centre", ndim=1))
        object.__setattr__(self, "scale", positive_numbers(self.scale, "the scale", ndim=1))

    def __len__(self):
        return int(self.loc.shape[0])

    def __getitem__(self, index):
        index = checked_index(index)
        return trusted(self, loc=take_rows(self.loc, index), scale=take_rows(self.scale, index))

    def map_arrays(self, function):
        return trusted(self, loc=function(self.loc), scale=function(self.scale))

    event_shape = property(lambda self: ())
    mean = property(lambda self: self.loc)
    std = property(lambda self: self.scale * (math.pi / math.sqrt(3)))

    def z(self, y):
        return (to_numpy(y) - to_numpy(self.loc)) / to_numpy(self.scale)

    def draw(self, uniforms):
        return self._quantile(inside(uniforms))

    def _quantile(self, levels):
        return to_numpy(self.loc) + to_numpy(self.scale) * logit(levels)

    def cdf(self, y):
        return expit(self.z(y))

    def log_prob(self, y):
        z = np.abs(self.z(y))
        return -z - 2 * np.log1p(np.exp(-z)) - np.log(to_numpy(self.scale))

    def score(self, y):
        return -np.tanh(self.z(y) / 2) / to_numpy(self.scale)

    def crps(self, y):
        z = np.abs(self.z(y))
        return to_numpy(self.scale) * (z + 2 * np.log1p(np.exp(-z)) - 1)

    def density_level(self, y):
        return np.tanh(np.abs(self.z(y)) / 2)

    def wasserstein_coordinates(self):
        return namespace(self.loc).stack([self.loc, self.std], axis=-1)

    def characteristic(self, frequencies):
        loc, t = to_numpy(self.loc)[:, None], np.abs(np.pi * to_numpy(self.scale)[:, None] * frequencies)
        with np.errstate(invalid="ignore"):
            damping = np.where(t > 0, -2 * t * np.exp(-t) / np.expm1(-2 * t), 1.0)
        return np.exp(1j * loc * frequencies) * damping


LOC, SCALE = np.array([0.0, 1.0, -2.0, 0.5, 3.0]), np.array([1.0, 0.5, 2.0, 1.0, 0.1])


def test_the_right_family_of_numbers_passes():
    check_family(
        Logistic(LOC, SCALE), refuses=[lambda: Logistic([0.0], [-1.0]), lambda: Logistic([float("nan")], [1.0])]
    )


def numbered(**methods):
    """A subclass with methods that are wrong."""
    return type("Broken", (Logistic,), methods)


right = Logistic
BROKEN = {
    "std of another": ({"std": property(lambda self: self.scale)}, "draws have the standard deviation"),
    "mean of another": ({"mean": property(lambda self: self.loc + 0.5 * self.scale)}, "draws have the mean"),
    "negative width": ({"width": property(lambda self: -self.scale)}, "std and width are not negative"),
    "infinite width": ({"width": property(lambda self: self.scale / 0)}, "centre and width are finite"),
    "draws shifted": ({"draw": lambda self, u: right.draw(self, u) + 0.3 * self.scale}, "draws have the mean"),
    "draws too wide": (
        {"draw": lambda self, u: to_numpy(self.loc) + 1.3 * (right.draw(self, u) - to_numpy(self.loc))},
        "draws have the standard deviation",
    ),
    "infinite draws": ({"draw": lambda self, u: self._quantile(u)}, "draws at the ends.*are finite"),
    "uniforms swapped": (
        {"draw": lambda self, u: right.draw(self, np.roll(u, 1, axis=0))},
        "the same uniform numbers give the same targets",
    ),
    "cdf of the other side": ({"cdf": lambda self, y: expit(-self.z(y))}, "cdf.y. is P.Y <= y..*cdf falls somewhere"),
    "cdf of another scale": ({"cdf": lambda self, y: expit(1.3 * self.z(y))}, "cdf of row 0 is .* away from draws"),
    "cdf above one": ({"cdf": lambda self, y: 1.1 * right.cdf(self, y)}, "they go from"),
    "cdf_below above cdf": (
        {"cdf_below": lambda self, y: np.minimum(right.cdf(self, y) + 0.01, 1)},
        "cdf_below is above cdf somewhere",
    ),
    "pit turned": (
        {"pit_interval": lambda self, y: (1 - self.cdf(y), 1 - 0.5 * self.cdf(y))},
        "(PIT values of draws|the ends are not in order)",
    ),
    "quantile of another": (
        {
            "_quantile": lambda self, u: to_numpy(self.loc) + 1.1 * to_numpy(self.scale) * logit(u),
            "draw": lambda self, u: right._quantile(self, inside(u)),
        },
        "quantile.u. is the smallest value",
    ),
    "quantile of any level": (
        {"quantile": lambda self, levels: self._quantile(np.clip(levels, 0, 1))},
        "levels of quantiles that are no probabilities are refused",
    ),
    "central interval too high": (
        {
            "central_interval": lambda self, level: replace(
                right.central_interval(self, level), high=self.quantile(0.999)
            )
        },
        "the share of draws inside is",
    ),
    "density without its scale": (
        {"log_prob": lambda self, y: right.log_prob(self, y) + np.log(to_numpy(self.scale))},
        "the density integrates to the distribution function",
    ),
    "density of another shape": (
        {"log_prob": lambda self, y: right.log_prob(self, y) * 0.8},
        "the density integrates to the distribution function",
    ),
    "score with a wrong sign": (
        {"score": lambda self, y: -right.score(self, y)},
        "score.y. is the gradient of log_prob",
    ),
    "score without the scale": (
        {"score": lambda self, y: right.score(self, y) * to_numpy(self.scale)},
        "score.y. is the gradient of log_prob",
    ),
    "crps of half": ({"crps": lambda self, y: right.crps(self, y) / 2}, "crps.y. is E"),
    "crps without a constant": (
        {"crps": lambda self, y: right.crps(self, y) + to_numpy(self.scale)},
        "crps.y. is E",
    ),
    "level turned": ({"density_level": lambda self, y: 1 - right.density_level(self, y)}, "density_level.y. is P"),
    "temperature of another": (
        {"tempered": lambda self, t: trusted(self, scale=t * self.scale)},
        "tempered.T. is the power 1/T by one reference measure",
    ),
    "coordinates by scales": (
        {"wasserstein_coordinates": lambda self: np.stack([to_numpy(self.loc), to_numpy(self.scale)], axis=1)},
        "wasserstein_coordinates.. have the 2-Wasserstein distance",
    ),
    "characteristic conjugated": (
        {"characteristic": lambda self, w: np.conj(right.characteristic(self, w))},
        "characteristic.w. is E",
    ),
    "characteristic overflows": (
        {
            "characteristic": lambda self, w: (
                right.characteristic(self, w) * (1 + 0j * np.exp(np.minimum(np.abs(w), 800)))
            )
        },
        "(far out it is not finite|It raised)",
    ),
    "characteristic turned": (
        {"characteristic": lambda self, w: right.characteristic(self, w).T},
        "(it has shape|one answer a row)",
    ),
    "standardised by scales": (
        {"standardised": lambda self, y: self.z(y)},
        "standardised.y. has mean 0 and variance 1",
    ),
    "refuses without a name": (
        {"characteristic": lambda self, w: (_ for _ in ()).throw(InputError("this is not to be had here"))},
        "the message names neither characteristic",
    ),
    "crashes": (
        {"characteristic": lambda self, w: (_ for _ in ()).throw(KeyError("w"))},
        "It raised KeyError",
    ),
    "one set of targets only": (
        {"log_prob": lambda self, y: right.log_prob(self, np.asarray(to_numpy(y)).reshape(-1, len(self))[:1])[0]},
        "(one answer a row|many sets of targets|it has shape)",
    ),
    "forgets an array": (
        {"map_arrays": lambda self, f: trusted(self, loc=f(self.loc))},
        "it leaves out Broken.scale",
    ),
    "counts that are none": ({"counts": True}, "whole numbers from 0"),
    "affine that is none": ({"score_is_affine": True}, "the score half way"),
    "event shape of a list": ({"event_shape": property(lambda self: [])}, "event_shape a tuple"),
    "words for one": (
        {"in_words": lambda self, y: tuple(texts[:1] for texts in right.in_words(self, y))},
        "in_words.y. gives a text",
    ),
}


@pytest.mark.parametrize("defect", BROKEN)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_broken_families_of_numbers_are_found(defect):
    methods, message = BROKEN[defect]
    with pytest.raises(AssertionError, match=message) as caught:
        check_family(numbered(**methods)(LOC, SCALE))
    assert str(caught.value).startswith("Broken: ")
    assert len(str(caught.value)) > 60


def test_broken_vectors_are_found():
    class Marginal(kc.predictions.DiagonalNormal):
        def marginal(self, k):
            return kc.Normal(self.mean[:, k], 2 * self.std[:, k])

    class Mass(kc.predictions.DiagonalNormal):
        def log_prob(self, y):
            return super().log_prob(y) + 0.5

    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=(4, 2)), rng.uniform(0.5, 2, (4, 2))
    check_family(kc.predictions.DiagonalNormal(mean, std))
    with pytest.raises(AssertionError, match=r"marginal\(k\).*the standard deviation of coordinate 0"):
        check_family(Marginal(mean, std))
    with pytest.raises(AssertionError, match=r"the density integrates to 1.*has the mass 1\.6"):
        check_family(Mass(mean, std))


def test_broken_counts_are_found():
    class Continuous(kc.Poisson):
        def log_prob(self, y):
            return super().log_prob(np.floor(to_numpy(y)))

    class Twice(kc.Poisson):
        def log_prob(self, y):
            return super().log_prob(y) + np.log(1.1)

    class Below(kc.Poisson):
        def cdf_below(self, y):
            return self.cdf(y)

    rate = np.array([0.5, 2.0, 3.3, 7.0])
    check_family(kc.Poisson(rate))
    with pytest.raises(AssertionError, match="log_prob of a half is not -inf"):
        check_family(Continuous(rate))
    with pytest.raises(AssertionError, match="probabilities of counts add up"):
        check_family(Twice(rate))
    with pytest.raises(AssertionError, match="cdf_below of row 0 is"):
        check_family(Below(rate))
