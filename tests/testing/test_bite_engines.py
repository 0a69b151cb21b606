"""The check of an engine finds deliberate defects."""

from dataclasses import dataclass

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.arrays import namespace, to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels import CrossPairs, Points
from kernelcal.pairs import Engine, QuadraticForms, Sums
from kernelcal.residuals import FeatureResidual
from kernelcal.testing import check_engine

EVERYTHING = slice(None)


@dataclass(frozen=True)
class Dense(Engine):
    """Right: the kernel matrices as arrays of shape (n, n)."""

    defect: str = ""

    def prepare(self, kernels, predictions, residual):
        if not isinstance(residual, FeatureResidual) and self.defect != "crash":
            raise InputError("Dense needs residuals with features: use ExactPairs()")
        pairs = CrossPairs(Points(predictions), EVERYTHING, EVERYTHING)
        if self.defect == "weights":
            residual = type(residual).of(predictions, kc.Dirac(), None)
        return Forms([kernel.evaluate(pairs) for kernel in kernels], residual, self.defect)


class Forms(QuadraticForms):
    label = "dense matrix"

    def __init__(self, matrices, residual, defect):
        self.matrices, self.residual, self.defect = matrices, residual, defect
        self.bytes_per_draw = 0 if defect == "bytes" else 16 * len(residual) * residual.dimension
        if defect == "label":
            self.label = ""
        if defect == "rows":
            self.kernel_rows = lambda rows, columns=EVERYTHING: np.array(matrices[-1])[rows, columns]
        elif defect == "view":
            self.kernel_rows = lambda rows, columns=EVERYTHING: matrices[0][rows, columns]

    def of(self, labels):
        r, k = self.residual.features(labels), self.matrices[0]
        if self.defect == "gradient":
            r, k = to_numpy(r), to_numpy(k)
        xp = namespace(r)
        diagonal = xp.sum(xp.linalg.diagonal(k) * xp.sum(r * r, axis=1))
        off = xp.sum(r * (k @ r)) - diagonal
        if self.defect == "scalar":
            off = off[None]
        return Sums(off, diagonal)

    def batch(self, labels):
        if self.defect == "writes":
            labels[:] = 0
        r = self.residual.batch(labels)
        if self.defect == "first row":
            r[:, 0] *= 1.001
        flat = r.reshape(len(r), -1)
        matrices = [np.asarray(to_numpy(k)) for k in self.matrices]
        everything = [(flat * (k @ flat)).reshape(r.shape).sum(axis=(0, 2)) for k in matrices]
        norms = (r * r).sum(axis=2)
        diagonal = np.stack([k.diagonal() @ norms for k in matrices], axis=1)
        off = np.stack(everything, axis=1) - diagonal
        if self.defect == "half":
            off = off / 2
        if self.defect == "with diagonal":
            off = off + diagonal
        if self.defect == "one kernel":
            off, diagonal = off[:, :1], diagonal[:, :1]
        if self.defect == "turned":
            off = off[:, ::-1]
        if self.defect == "single":
            off = off.astype(np.float32)
        if self.defect == "noise":
            off = off * (1 + 1e-3 * np.random.default_rng().random(off.shape))
        if self.defect == "pair":
            return off, diagonal
        if self.defect == "swapped":
            off, diagonal = diagonal, off
        return Sums(off, diagonal)


def test_the_right_engine_passes():
    check_engine(Dense())


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        ("half", "(sums are those of a double loop|of.targets. returns the sums)"),
        ("with diagonal", "(sums are those of a double loop|of.targets. returns the sums)"),
        ("swapped", "(sums are those of a double loop|of.targets. returns the sums)"),
        ("turned", "(sums are those of a double loop|of.targets. returns the sums)"),
        ("one kernel", r"off_diagonal has shape \(5, 1\) for 5 sets and 2 kernels"),
        ("single", "off_diagonal is float32"),
        ("noise", "in any batch, at any place of it, and when asked again"),
        ("first row", "in any batch, at any place of it, and when asked again"),
        ("pair", "it returned tuple, expected kernelcal.pairs.Sums"),
        ("writes", "read-only"),
        ("weights", "sums are those of a double loop over pairs, here of 24 rows of Categorical, weighted"),
        ("bytes", "bytes_per_draw is a whole number from 1.*it is 0"),
        ("label", "label says what computes the sums.*it is ''"),
        ("scalar", r"off_diagonal has shape \(1,\)"),
        ("gradient", "(as a scalar of it|gradient)"),
        ("rows", "kernel_rows.rows, columns. gives values of the first kernel"),
        ("crash", "It raised AttributeError: .GramResidual. object has no attribute"),
    ],
)
def test_broken_engines_are_found(defect, message):
    with pytest.raises(AssertionError, match=message) as caught:
        check_engine(Dense(defect))
    assert str(caught.value).startswith(f"Dense(defect={defect!r})")


def test_what_is_no_engine_is_said():
    with pytest.raises(AssertionError, match=r"an engine derives from kernelcal\.pairs\.Engine"):
        check_engine("exact")


def test_an_approximation_needs_its_error_said():
    check_engine(kc.Nystrom(10), error=0.2)
    with pytest.raises(AssertionError, match="sums are those of a double loop over pairs"):
        check_engine(kc.Nystrom(4))
