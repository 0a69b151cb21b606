"""The order of a plan, its printed form, and what is said where there is no way."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError, NoClosedFormError
from kernelcal.kernels import (
    Coordinatewise,
    Dirac,
    GaussHermite,
    Gaussian,
    GaussLegendre,
    Laplacian,
    Linear,
    MonteCarlo,
    RationalQuadratic,
    TotalVariation,
    plan,
)
from kernelcal.kernels.embeddings import cross_of, mean_of
from kernelcal.kernels.embeddings.closed_forms import CROSS, MEAN
from kernelcal.predictions import (
    DiagonalNormal,
    Laplace,
    Mixture,
    MultivariateNormal,
    Normal,
    Poisson,
    Quantiles,
    Samples,
)

NORMAL = Normal([0.0, 1.0], [1.0, 2.0])
LAPLACE = Laplace([0.0, 1.0], [1.0, 2.0])
VECTORS = MultivariateNormal(np.zeros((2, 4)), np.eye(4))


def test_a_plan_prints_as_a_tree():
    mixture = Mixture([0.5, 0.25, 0.25], [NORMAL, Samples([[1.0, 2.0], [3.0, 4.0]]), NORMAL])
    assert str(plan(0.5 * Gaussian(1.0) + Linear(), mixture)) == "\n".join(
        [
            "sum of",
            "  0.5 times",
            "    mixture: means over 3 components, crosses over all 9 pairs of them",
            "      closed form: Gaussian(lengthscale=1.0, metric=Euclidean()) under Normal",
            "      draws: means of Gaussian(lengthscale=1.0, metric=Euclidean()) over them, crosses over all pairs",
            "  linear kernel: inner products of means and targets, for every family",
        ]
    )


DIAGONAL = DiagonalNormal(np.zeros((2, 2)), np.ones((2, 2)))
TENT = "Laplacian(lengthscale=1.0, metric=Euclidean())"
BELL = "Gaussian(lengthscale=1.0, metric=Euclidean())"
TAIL = "over 0 to 22, which leave out at most 1e-12"
NODES = [
    (Laplacian(1.0), Poisson([0.0, 3.0]), None, f"counts: sums of {TENT} {TAIL}"),
    (Dirac(), Poisson([3.0]), None, f"counts: probabilities of targets; crosses are sums of Dirac() {TAIL}"),
    (Dirac(), kc.Categorical([[0.5, 0.5]]), None, "classes: sums of Dirac() over 2 classes"),
    (
        Coordinatewise(Laplacian(1.0)),
        DIAGONAL,
        None,
        f"product over the independent coordinates of DiagonalNormal, each\n  closed form: {TENT} under Normal",
    ),
    (
        Laplacian(1.0),
        DIAGONAL,
        GaussHermite(8),
        f"quadrature: {TENT} over 64 nodes of Gauss-Hermite, crosses over those of the difference",
    ),
    (
        Linear() * Linear(),
        NORMAL,
        GaussHermite(8),
        "quadrature: Linear() * Linear() over 8 nodes of Gauss-Hermite, crosses over all pairs",
    ),
    (
        Gaussian(1.0),
        LAPLACE,
        GaussLegendre(),
        f"quadrature: {BELL} over 64 quantiles (Gauss-Legendre), crosses over all pairs",
    ),
    (
        Laplacian(1.0),
        VECTORS,
        MonteCarlo(),
        f"Monte Carlo: {TENT} over 1000 seeded draws, crosses over pairs of two sets",
    ),
]


@pytest.mark.parametrize(("kernel", "predictions", "integrator", "expected"), NODES)
def test_every_kind_of_node_says_what_it_computes(kernel, predictions, integrator, expected):
    assert str(plan(kernel, predictions, integrator)) == expected


def test_a_closed_form_comes_before_an_integrator():
    for kernel, predictions in ((Gaussian(1.0), NORMAL), (Laplacian(1.0), LAPLACE), (Dirac(), Poisson([1.0]))):
        assert str(plan(kernel, predictions, MonteCarlo())) == str(plan(kernel, predictions))


def test_an_integrator_serves_the_components_that_need_it():
    mixture = Mixture(None, [NORMAL, LAPLACE])
    printed = str(plan(Gaussian(1.0), mixture, GaussLegendre(16)))
    assert "closed form: Gaussian(lengthscale=1.0, metric=Euclidean()) under Normal" in printed
    assert "over 16 quantiles" in printed


def test_without_a_closed_form_those_that_exist_and_the_ways_out_are_named():
    with pytest.raises(NoClosedFormError) as caught:
        plan(RationalQuadratic(1.0), NORMAL)
    message = str(caught.value)
    assert message.startswith(
        "E k(Z, y) of RationalQuadratic(lengthscale=1.0, metric=Euclidean(), alpha=1.0) under Normal has no"
    )
    named = message.partition("Normal has some for ")[2].partition("; RationalQuadratic")[0].split(", ")
    assert {"Gaussian", "Laplacian", "Matern32", "Matern52", "Linear"} <= set(named)  # beside those of other tests
    assert "RationalQuadratic has some for Samples, counts, mixtures of these." in message
    for way in (
        "GaussHermite()",
        "GaussLegendre()",
        "MonteCarlo()",
        "kernelcal.predictions.Samples",
        "Spectral(kernel)",
    ):
        assert way in message


def test_the_families_of_a_kernel_are_named():
    with pytest.raises(NoClosedFormError, match="Laplacian has some for Laplace, Normal, Samples, counts, mixtures"):
        plan(Laplacian(1.0), VECTORS)
    with pytest.raises(NoClosedFormError, match="Quantiles has some for Linear"):
        plan(Gaussian(1.0), Quantiles([[0.0, 1.0]], [0.2, 0.8]))


def test_products_have_no_rule_unless_all_are_gaussian():
    expected = r"E k\(Z, y\) of Gaussian.* \* Laplacian.* under Normal has no closed form"
    with pytest.raises(NoClosedFormError, match=expected):
        plan(Gaussian(1.0) * Laplacian(1.0), NORMAL)


def test_a_part_of_a_sum_or_mixture_without_a_closed_form_is_named():
    with pytest.raises(NoClosedFormError, match=r"of RationalQuadratic\(.* under Normal"):
        plan(Gaussian(1.0) + RationalQuadratic(1.0), NORMAL)
    with pytest.raises(NoClosedFormError, match=r"of Gaussian\(.* under Laplace"):
        plan(Gaussian(1.0), Mixture(None, [NORMAL, LAPLACE]))


class Other(Normal):
    """A family that was added by somebody."""


def test_rules_are_found_by_exact_types_and_a_missing_pair_is_named(monkeypatch):
    other = Other([0.0, 1.0], 1.0)
    with pytest.raises(NoClosedFormError, match="under Other"):
        plan(Gaussian(1.0), other)
    monkeypatch.setitem(MEAN, (Gaussian, Other), MEAN[Gaussian, Normal])
    monkeypatch.setitem(CROSS, (Gaussian, Other, Other), CROSS[Gaussian, Normal, Normal])
    assert str(plan(Gaussian(1.0), other)).endswith("under Other")
    with pytest.raises(NoClosedFormError, match=r"closed forms for Normal and for Other, but not for a pair of both"):
        plan(Gaussian(1.0), Mixture(None, [NORMAL, other]))
    monkeypatch.setitem(CROSS, (Gaussian, Other, Normal), CROSS[Gaussian, Normal, Normal])
    mixture = Mixture(None, [NORMAL, other])
    np.testing.assert_allclose(
        plan(Gaussian(1.0), mixture).cross(mixture, mixture),
        plan(Gaussian(1.0), same := Mixture(None, [NORMAL, Normal([0.0, 1.0], 1.0)])).cross(same, same),
    )


def test_registered_rules_are_used(monkeypatch):
    class Constant(Gaussian):
        pass

    monkeypatch.setattr("kernelcal.kernels.embeddings.closed_forms.MEAN", MEAN)
    mean_of(Constant, Normal)(lambda kernel, p, y: 0 * (p.mean - y) + 3.0)
    cross_of(Constant, Normal, Normal)(lambda kernel, p, q: 0 * (p.mean - q.mean) + 2.0)
    try:
        embedding = plan(Constant(1.0), NORMAL)
        assert (embedding.mean(NORMAL, NORMAL.mean) == 3).all()
        assert (embedding.cross(NORMAL, NORMAL) == 2).all()
    finally:
        del MEAN[Constant, Normal], CROSS[Constant, Normal, Normal]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plan("gaussian", NORMAL), "must be a kernel such as kernelcal.Gaussian"),
        (lambda: plan(Gaussian(1.0), [0.0, 1.0]), "list has no expectations of kernels: use a family for numbers"),
        (lambda: plan(Gaussian(1.0), NORMAL, "MonteCarlo"), r"integrator must be one of .* such as MonteCarlo\(\)"),
        (
            lambda: plan(Gaussian(1.0, metric=TotalVariation()), NORMAL),
            "TotalVariation compares predictions, not targets",
        ),
        (lambda: plan(Gaussian(), NORMAL), "lengthscale='median' must be resolved first"),
        (
            lambda: plan(Gaussian(1.0), Mixture(None, [NORMAL])).mean(Mixture(None, [LAPLACE]), np.zeros(2)),
            "the plan was made for mixtures of Normal, got a component Laplace",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_the_error_is_an_input_error():
    assert issubclass(NoClosedFormError, InputError)
