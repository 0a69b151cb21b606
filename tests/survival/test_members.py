"""Statistics of the test by loops over pairs, and what they are allowed to depend on."""

import numpy as np
import pytest

from kernelcal.predictions import Gamma
from kernelcal.survival import Survival, SurvivalCurves, residual_features
from kernelcal.survival.members import Members, log_hazards
from kernelcal.survival.redraws import redrawn
from kernelcal.survival.residuals import WEIGHTS


def seen_of(n=30, seed=0):
    rng = np.random.default_rng(seed)
    law = Gamma(2.0, rng.uniform(0.5, 2.0, n))
    times, ends = rng.gamma(2.0, 1 / np.asarray(law.rate)), rng.exponential(3.0, n)
    return Survival(law, np.minimum(times, ends), times <= ends, ends), ends


def test_the_members_are_sums_over_pairs():
    seen, ends = seen_of()
    members = Members.of(seen, seen.hazard_at(ends))
    m = residual_features(seen.hazard, seen.event)
    kernel = members.features @ members.features.T
    when = both = whom = 0.0
    for i in range(len(m)):
        for j in range(len(m)):
            if i != j:
                products = m[i] * m[j]
                scaled = (WEIGHTS * products / (m**2).sum(axis=0)).sum()
                when, both, whom = when + scaled, both + kernel[i, j] * scaled, whom + kernel[i, j] * products[0]
    expected = [abs(m[:, 0].sum()), when, both, whom, abs((members.slope * m[:, 0]).sum())]
    np.testing.assert_allclose(members.values(m[None])[:, 0], expected)


def test_the_kernel_is_gaussian_between_logarithms_of_hazards():
    seen, ends = seen_of(20)
    places = log_hazards(seen)
    square = ((places[:, None] - places[None]) ** 2).sum(axis=-1)
    wide = 2 * np.median(square[square > 0])
    features = Members.of(seen, seen.hazard_at(ends)).features
    np.testing.assert_allclose(features @ features.T, np.exp(-square / wide), atol=0.02)


def test_places_do_not_depend_on_outcomes_or_the_unit_of_time():
    seen, _ = seen_of()
    other = Survival(seen.law, seen.time / 2, ~seen.event)
    np.testing.assert_array_equal(log_hazards(seen), log_hazards(other))
    days = Survival(Gamma(2.0, np.asarray(seen.law.rate) / 365), seen.time * 365, seen.event)
    np.testing.assert_allclose(log_hazards(days), log_hazards(seen))
    flat = Survival(SurvivalCurves([1.0, 2.0], np.full((5, 2), 0.99)), np.ones(5), np.zeros(5, dtype=bool))
    assert np.ptp(log_hazards(flat), axis=0).max() == 0
    assert Members.of(flat, np.full(5, 0.01)).features.shape == (5, 1)


def test_a_common_factor_of_all_hazards_moves_neither_slope_nor_lateness():
    """Both are centred where a factor of the hazards has its first effect."""
    rng = np.random.default_rng(1)
    law = Gamma(1.0, np.exp(rng.normal(size=20_000)))
    ends = rng.exponential(1.0, 20_000)
    times = rng.exponential(size=20_000) / 1.1 / np.asarray(law.rate)
    seen = Survival(law, np.minimum(times, ends), times <= ends, ends)
    members = Members.of(seen, seen.hazard_at(ends))
    often, late, slope = members.signed(residual_features(seen.hazard, seen.event)[None])[:, 0]
    assert often > 5 * np.sqrt(seen.event.sum())
    assert abs(late) < 3 * np.sqrt(seen.event.sum())
    assert abs(slope) < 3 * np.sqrt(seen.event.sum())


def test_redrawn_outcomes_are_censored_as_they_would_have_been():
    limits = np.array([0.0, 0.5, np.inf])
    batches = [*redrawn(limits, 3000, np.random.default_rng(0))]
    hazard, event = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    assert hazard.shape == (3000, 3)
    assert not event[:, 0].any()
    assert event[:, 2].all()
    assert event[:, 1].mean() == pytest.approx(1 - np.exp(-0.5), abs=0.04)
    assert (hazard[:, 1] <= 0.5).all()
    assert hazard[:, 2].mean() == pytest.approx(1, abs=0.08)
