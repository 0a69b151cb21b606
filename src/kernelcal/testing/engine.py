"""The check of an engine: sums over pairs of rows against a double loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels import Dirac, Gaussian, Kernel, Laplacian, Points
from kernelcal.pairs import Engine, KernelProducts, QuadraticForms, Sums
from kernelcal.predictions import Bernoulli, Categorical, Normal
from kernelcal.residuals import Residual, residual_of
from kernelcal.testing.contract import (
    LIBRARIES,
    claim,
    close,
    contract,
    installed,
    read_only,
    same_library,
    settings_are_fixed,
    tells_what_to_do,
    untouched,
)
from kernelcal.testing.kernel import class_batch, gram

__all__ = ["check_engine"]


_KERNELS: tuple[Kernel, ...] = (Laplacian(0.4), Gaussian(0.7))


def check_engine(
    engine: Engine,
    *,
    kernels: Sequence[Kernel] = _KERNELS,
    predictions: Iterable[Any] | None = None,
    error: float = 1e-9,
    libraries: Iterable[str] = LIBRARIES,
) -> None:
    """Check that an engine keeps the contract of `kernelcal.pairs.Engine`.

    Sums are those of a double loop over pairs, up to an `error`; one set of targets and many give the same, whatever
    the batch they come in; the targets are read only, and nothing that is given changes; case weights multiply
    residuals; sums of torch predictions keep their gradient. What an engine offers beyond (``kernel_rows``,
    ``products``) is right too. Residuals without features (target kernels of numbers) are summed as well, or refused.

    Parameters
    ----------
    engine : Engine
        An instance.
    kernels : sequence of Kernel
        Two or more kernels of predictions that it takes, with numeric lengthscales.
    predictions : iterable of Predictions, optional
        Batches whose sums are compared; default classes, one probability, and numbers.
    error : float
        Largest error of a sum relative to the sum of absolute values: rounding for an exact engine; say 0.2 for
        features.
    libraries : iterable of str, optional
        As for `check_kernel`.

    Raises
    ------
    AssertionError
        With the sentence of the contract that is broken, and the numbers.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.testing import check_engine
    >>> check_engine(kc.ExactPairs())
    >>> check_engine(kc.Nystrom(10), error=0.2)
    """
    with contract(engine, "an engine derives from kernelcal.pairs.Engine"):
        claim(isinstance(engine, Engine), f"it is a {type(engine).__name__}")
    settings_are_fixed(engine)
    for batch in map(read_only, _batches() if predictions is None else predictions):
        target = Dirac() if hasattr(batch, "n_classes") else Gaussian(1.0)
        weights = np.random.default_rng(2).uniform(0.2, 2, len(batch))
        for own in (None, weights / weights.mean()):
            subject = _Subject(engine, tuple(kernels), batch, residual_of(batch, target, own), error)
            _check_sums(subject)
    _check_libraries(engine, tuple(kernels), error, libraries)


def _batches() -> tuple[Any, ...]:
    rng = np.random.default_rng(5)
    p = np.r_[rng.random(20), 0.0, 1.0, 0.3, 0.3]
    return class_batch(), Bernoulli(p), class_batch(2, 3), Normal(rng.normal(size=14), rng.uniform(0.5, 2, 14))


class _Subject:
    """An engine with kernels and predictions, and the sums of a loop over them."""

    def __init__(
        self, engine: Engine, kernels: tuple[Kernel, ...], batch: Any, residual: Residual, error: float
    ) -> None:
        self.engine, self.kernels, self.batch, self.residual, self.error = engine, kernels, batch, residual, error
        self.values = [np.array(gram(kernel, Points(batch))) for kernel in kernels]
        targets = batch.sample(0, 5)
        targets[3] = targets[0]
        targets.setflags(write=False)
        self.targets = targets

    @property
    def where(self) -> str:
        weighted = "" if self.residual.weights is None else ", weighted"
        return f"{len(self.batch)} rows of {type(self.batch).__name__}{weighted}"

    def loop(self, targets: np.ndarray, kernel: int) -> tuple[float, float, float]:
        """Sum over i != j, over i = j, and of absolute values."""
        r = np.array(to_numpy(self.residual.inner(targets).block(slice(None), slice(None))))
        off = diagonal = size = 0.0
        for i in range(len(r)):
            for j in range(len(r)):
                term = float(self.values[kernel][i, j] * r[i, j])
                size += abs(term)
                if i == j:
                    diagonal += term
                else:
                    off += term
        return off, diagonal, size


def _check_sums(subject: _Subject) -> None:
    engine, batch, targets = subject.engine, subject.batch, subject.targets
    with (
        untouched(predictions=batch),
        contract(
            engine,
            "prepare(kernels, predictions, residual) sums residuals of any kind, or refuses them with the remedy",
        ),
    ):
        try:
            forms = engine.prepare(subject.kernels, batch, subject.residual)
        except InputError as error:
            tells_what_to_do(str(error))
            claim(not hasattr(batch, "n_classes"), f"it refuses {subject.where}: {str(error)[:200]}")
            return
        claim(isinstance(forms, QuadraticForms), f"prepare returned {type(forms).__name__}, expected QuadraticForms")
    _check_facts(engine, forms)
    with (
        untouched(predictions=batch, targets=targets),
        contract(engine, "batch(targets) returns Sums in NumPy and float64, of shape (sets of targets, kernels)"),
    ):
        sums = forms.batch(targets)
        claim(isinstance(sums, Sums), f"it returned {type(sums).__name__}, expected kernelcal.pairs.Sums")
        for name, part in (("off_diagonal", sums.off_diagonal), ("diagonal", sums.diagonal)):
            claim(isinstance(part, np.ndarray), f"{name} is a {type(part).__name__}")
            claim(
                part.shape == (5, len(subject.kernels)),
                f"{name} has shape {part.shape} for 5 sets and {len(subject.kernels)} kernels",
            )
            claim(part.dtype == np.float64, f"{name} is {part.dtype}")
    _check_batches(subject, forms, sums)
    with contract(engine, f"sums are those of a double loop over pairs, here of {subject.where}"):
        for b in range(5):
            for k in range(len(subject.kernels)):
                off, diagonal, size = subject.loop(targets[b], k)
                atol = subject.error * size
                close(sums.diagonal[b, k], diagonal, rtol=0, atol=atol, what=f"the sum over i = j of kernel {k}")
                close(sums.off_diagonal[b, k], off, rtol=0, atol=atol, what=f"the sum over i != j of kernel {k}")
    _check_more(subject, forms)


def _check_facts(engine: Engine, forms: QuadraticForms) -> None:
    with contract(engine, "label says what computes the sums: a text without line breaks"):
        label = getattr(forms, "label", None)
        claim(isinstance(label, str) and label and "\n" not in label, f"it is {label!r}")
    with contract(engine, "bytes_per_draw is a whole number from 1: the memory of one more set of targets"):
        held = getattr(forms, "bytes_per_draw", None)
        claim(isinstance(held, int | np.integer) and held >= 1, f"it is {held!r}")
    with contract(engine, "seconds and seconds_per_draw are not negative"):
        claim(forms.seconds >= 0 and forms.seconds_per_draw >= 0, f"they are {forms.seconds}, {forms.seconds_per_draw}")


def _check_batches(subject: _Subject, forms: QuadraticForms, sums: Sums) -> None:
    engine, targets = subject.engine, subject.targets
    sizes = [subject.loop(y, 0)[2] for y in targets]
    atol = 1e-9 * max(sizes) + 1e-13
    with contract(engine, "the same targets give the same sums in any batch, at any place of it, and when asked again"):
        for name in ("off_diagonal", "diagonal"):
            whole = getattr(sums, name)
            close(whole[3], whole[0], rtol=0, atol=atol, what=f"{name} of equal targets")
            alone = getattr(forms.batch(targets[1:2]), name)
            close(alone[0], whole[1], rtol=0, atol=atol, what=f"{name} of one set alone")
            turned = getattr(forms.batch(targets[::-1]), name)
            close(turned[::-1], whole, rtol=0, atol=atol, what=f"{name} of the sets in another order")
    with contract(engine, "of(targets) returns the sums of the first kernel, as scalars"):
        one = forms.of(targets[1])
        for name in ("off_diagonal", "diagonal"):
            value = getattr(one, name)
            claim(np.ndim(to_numpy(value)) == 0, f"{name} has shape {np.shape(value)}")
            close(value, getattr(sums, name)[1, 0], rtol=0, atol=atol, what=name)


def _check_more(subject: _Subject, forms: QuadraticForms) -> None:
    n, values = len(subject.batch), subject.values[0]
    with contract(subject.engine, "kernel_rows(rows, columns) gives values of the first kernel, or is refused"):
        try:
            found = np.array(forms.kernel_rows(slice(0, n - 1), slice(1, n)))
        except InputError as error:
            tells_what_to_do(str(error))
        else:
            expected = values[: n - 1, 1:]
            claim(found.shape == expected.shape, f"they have shape {found.shape}, expected {expected.shape}")
            away = float(np.abs(found - expected).mean())
            claim(away <= max(subject.error, 1e-6), f"values are {away:.6g} away from those of the kernel, on average")
            kept = found.copy()
            found[...] = 0
            close(forms.kernel_rows(slice(0, n - 1), slice(1, n)), kept, what="a value asked again")
    with contract(subject.engine, "products, where there are some, are sums with the first kernel"):
        products = forms.products
        if products is None:
            return
        claim(isinstance(products, KernelProducts), f"they are {type(products).__name__}")
        claim(products.seconds_per_column > 0, f"seconds_per_column is {products.seconds_per_column}")
        close(products.diagonal, np.diagonal(values), atol=max(subject.error, 1e-9), what="K_ii")
        c, hollow = np.random.default_rng(0).normal(size=(n, 2)), values - np.diag(np.diagonal(values))
        for exponent in (1, 2):
            close(
                products.apply(c.copy(), exponent),
                hollow**exponent @ c,
                atol=1e-8 + subject.error * n,
                what="a sum over j",
            )
        v = np.abs(c[:, 0])
        weighted = hollow * np.sqrt(v)[:, None] * np.sqrt(v)
        triples = float(np.trace(weighted @ weighted @ weighted))
        close(products.triples(v), triples, rtol=1e-7 + subject.error, what="the sum over triples")


def _check_libraries(engine: Engine, kernels: tuple[Kernel, ...], error: float, libraries: Iterable[str]) -> None:
    batch = Categorical(np.random.default_rng(4).dirichlet(np.ones(4), 12))  # no two rows are equal
    targets = batch.sample(1)[0]
    expected = engine.prepare(kernels[:1], batch, residual_of(batch, Dirac())).of(targets)
    size = _Subject(engine, kernels[:1], batch, residual_of(batch, Dirac()), error).loop(targets, 0)[2]
    for name, move in installed(libraries):
        with contract(engine, f"of(targets) works on arrays of {name}, and gives the same sums as a scalar of it"):
            moved = batch.map_arrays(move)
            found = engine.prepare(kernels[:1], moved, residual_of(moved, Dirac())).of(targets)
            same_library(found.off_diagonal, moved.reference, "off_diagonal")
            single = to_numpy(found.off_diagonal).dtype == np.float32
            close(found.off_diagonal, expected.off_diagonal, rtol=0, atol=(1e-4 if single else 1e-8) * size)
            close(found.diagonal, expected.diagonal, rtol=0, atol=(1e-4 if single else 1e-8) * size)
        if name == "torch":
            with contract(engine, "of(targets) keeps the gradient with respect to torch predictions"):
                _check_gradient(engine, kernels[:1], batch, targets)


def _check_gradient(engine: Engine, kernels: tuple[Kernel, ...], batch: Any, targets: np.ndarray) -> None:
    """Derivative of the sums along one direction inside the simplex, against a difference quotient."""
    import torch

    p = 0.9 * np.array(batch.probabilities) + 0.1 / batch.n_classes
    p = np.random.default_rng(0).permutation(p)
    direction = np.roll(p, 1, axis=0) - p

    def total(values: Any) -> Any:
        moved = batch.map_arrays(lambda x: values)
        sums = engine.prepare(kernels, moved, residual_of(moved, Dirac())).of(targets)
        return sums.off_diagonal + sums.diagonal

    leaf = torch.tensor(p, requires_grad=True)
    value = total(leaf)
    claim(
        value.requires_grad, "the sums do not know where they came from: stay in the library, to_numpy drops gradients"
    )
    value.backward()
    found = float((leaf.grad.numpy() * direction).sum())
    step = 1e-5
    moved = [float(to_numpy(total(torch.tensor(p + s * step * direction)))) for s in (1, -1)]
    expected = (moved[0] - moved[1]) / (2 * step)
    close(
        found,
        expected,
        rtol=1e-4,
        atol=1e-4 * max(1.0, abs(float(value.detach()))),
        what="the derivative along a direction",
    )
