"""What predictions known through a score function share: parameters a row, calls of functions, draws if there are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelcal.arrays import Array, as_array, namespace, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.border import finite_numbers
from kernelcal.predictions.compositions import Samples
from kernelcal.predictions.densities.functions import (
    Library,
    checked_event_shape,
    checked_function,
    checked_parameters,
    checked_returned,
    checked_rows,
    library_of,
    map_sets,
    moved_to,
)
from kernelcal.predictions.real import RealPredictions
from kernelcal.randomness import generator_of

__all__ = ["Score", "ScorePredictions"]


_DESCRIBED_BY = 64  # draws of a sampler that tell mean and spread
_SEEDED = f"means and standard deviations, where they are needed, are those of {_DESCRIBED_BY} draws of the sampler"
_MEANING = "that of the targets (log densities belong to UnnormalizedDensity)"


@dataclass(frozen=True, eq=False, kw_only=True)
class ScorePredictions(RealPredictions):
    """Predictions known through the gradient of their log density: a function of targets, and parameters a row.

    A subclass says how the scores of one set of targets are computed, in the library of its function. The fields are
    described at `Score`. Arrays with the sample axis may be moved to other libraries; functions get their arguments in
    the library and type in which the parameters were given.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> p = kc.Score(lambda y, m: m - y, np.array([0.0, 1.0]))
    >>> isinstance(p, kc.predictions.ScorePredictions), p.score(np.array([0.5, 0.5]))
    (True, array([-0.5,  0.5]))
    """

    event_shape: tuple[int, ...] = ()
    n: int | None = None
    sampler: Callable[..., Any] | None = None
    draws: Any = None
    coordinates: Array | None = None
    library: Any = None
    notes: tuple[str, ...] = ()

    @property
    @abstractmethod
    def given(self) -> tuple[Callable[..., Any], Any]:
        """The function that decides the library, and the parameters."""

    @abstractmethod
    def scores(self, y: Array, *parameters: Array) -> Array:
        """Scores of one set of targets, shape ``(n, *event_shape)``, all in the library of the function."""

    def __post_init__(self) -> None:
        function, parameters = self.given
        checked_function(function, type(self).__name__)
        parameters, shape = checked_parameters(parameters), checked_event_shape(self.event_shape)
        library = library_of(self.library, function, parameters)
        parameters = tuple(library.array(x) for x in parameters)
        self._hold(parameters=parameters, event_shape=shape, library=library, _pooled=False)
        self._hold_descriptions()
        n = checked_rows(self.n, self._named())
        unknown = library.array(np.full((n, *shape), np.nan))
        rows = tuple(Library(library.name, x.dtype, library.device) for x in parameters)
        self._hold(n=n, _unknown=unknown, _rows=rows, _axes=tuple(x.ndim - 1 for x in parameters))

    def _hold(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _hold_descriptions(self) -> None:
        """Draws, sampler and coordinates."""
        if self.sampler is not None:
            checked_function(self.sampler, "sampler")
        if self.coordinates is not None:
            self._hold(coordinates=finite_numbers(self.coordinates, "the coordinates", ndim=2))
        if self.draws is None:
            self._hold(notes=(*self.notes, *([] if self.sampler is None else [_SEEDED])))
            return
        given = self.draws if isinstance(self.draws, Samples) else Samples(as_array(self.draws))
        draws = given.map_arrays(self.library.array)
        if draws.event_shape != self.event_shape:
            shape = ", ".join(("n", "S", *map(str, self.event_shape)))
            raise InputError(
                f"draws must have shape ({shape}) with S draws a row, got {tuple(draws.draws.shape)}: move the axis of "
                "the draws behind that of the rows, numpy.moveaxis(draws, 0, 1), or say event_shape"
            )
        self._hold(draws=draws, notes=(*self.notes, *draws.notes))

    def _named(self) -> list[tuple[str, Array]]:
        """Arrays with the sample axis."""
        named = [(f"parameter {k}", x) for k, x in enumerate(self._parameters)]
        named += [] if self.draws is None else [("draws", self.draws.draws)]
        return named + ([] if self.coordinates is None else [("coordinates", self.coordinates)])

    @property
    def _parameters(self) -> tuple[Array, ...]:
        return self.__dict__["parameters"]

    def __len__(self) -> int:
        return int(self.__dict__["_unknown"].shape[0])

    def __getitem__(self, index: Any) -> Self:
        if not self._parameters and not (
            isinstance(index, slice) and len(range(*index.indices(len(self)))) == len(self)
        ):
            raise InputError(
                "the function sees all rows at once, so that rows cannot be taken out: let it have the numbers of the "
                "rows, parameters=numpy.arange(n) and function(y, rows), or its own parameters a row"
            )
        index = checked_index(index)
        return self.map_arrays(lambda x: take_rows(x, index))

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to parameters, draws and coordinates."""
        held = self.__dict__
        changes: dict[str, Any] = {"parameters": tuple(map(function, self._parameters))}
        for name in ("coordinates", "_unknown"):
            changes[name] = None if held[name] is None else function(held[name])
        for name in ("draws", "_described"):
            changes[name] = None if held.get(name) is None else held[name].map_arrays(function)
        return trusted(self, n=int(changes["_unknown"].shape[0]), **changes)

    @property
    def drawable(self) -> bool:
        """Whether there is a sampler, or the outcome was put among the draws."""
        return self.sampler is not None or bool(self.__dict__["_pooled"])

    @property
    def exchangeable(self) -> bool:
        """Whether there are draws that the outcome may change places with, and no sampler."""
        return self.draws is not None and self.sampler is None

    @property
    def described(self) -> bool:
        """Whether draws or a sampler tell mean and spread."""
        return self.draws is not None or self.sampler is not None

    @property
    def mean(self) -> Array:
        """Means of the draws or of the sampler; NaN where there are neither, since a score does not tell them."""
        return self._ensemble().mean if self.described else self.__dict__["_unknown"]

    @property
    def reference(self) -> Array:
        """An array without values: means may have to be drawn."""
        return self.__dict__["_unknown"]

    @property
    def std(self) -> Array:
        """Standard deviations of the draws or of the sampler."""
        if not self.described:
            raise InputError(
                f"{type(self).__name__} does not tell means and standard deviations: pass draws= or sampler=, use the "
                "metric kernels.FisherDivergence for the prediction kernel, and a number as lengthscale of the target "
                "kernel"
            )
        return self._ensemble().std

    def _ensemble(self) -> Samples:
        if self.draws is not None:
            return self.draws
        if self.__dict__.get("_described") is None:
            drawn = np.moveaxis(self.sample(0, _DESCRIBED_BY), 0, 1)
            self._hold(_described=Samples(moved_to(drawn, self.__dict__["_unknown"])))
        return self.__dict__["_described"]

    def with_draws(self, draws: Any) -> Self:
        """Copy with draws of every prediction, shape (n, S, ...), in place of a sampler: swap tests are exact."""
        notes = tuple(note for note in self.notes if note != _SEEDED)
        return replace(self, **self._given(), draws=draws, sampler=None, notes=notes)

    def _given(self) -> dict[str, Any]:
        """Settings in the form in which they are checked."""
        return {"parameters": self.native(self._parameters), "library": self.library.name, "n": len(self)}

    def lacks(self, method: str, what: str, instead: str = "") -> InputError:
        """Error of what a score does not tell, with what to do instead."""
        return InputError(
            f"{type(self).__name__} has no {what}: use kernelcal.statistics.kccsd, which needs the score only, or draw "
            "from the predictions and pass kernelcal.Samples(draws)"
        )

    def score(self, y: Array) -> Array:
        """Gradients of the log densities, shape ``(..., n, *event_shape)``; one call of the function a set."""
        return self.by_sets(y, self.scores, self.event_shape, f"the scores of {type(self).__name__}", _MEANING)

    def by_sets(self, y: Array, function: Callable[..., Any], shape: tuple[int, ...], *what: str) -> Array:
        """Values of ``function(y, *parameters)``, of a shape a row, for one or many sets of targets."""
        y = as_array(y)
        if not namespace(y).isdtype(y.dtype, "real floating"):
            y = namespace(y).astype(y, namespace(y).float64)
        if not self._parameters and (
            y.ndim <= len(self.event_shape) or y.shape[-1 - len(self.event_shape)] != len(self)
        ):
            expected = ", ".join(("...", str(len(self)), *map(str, self.event_shape)))
            raise InputError(f"targets must have shape ({expected}) for these predictions, got {tuple(y.shape)}")

        def of_set(y: Array, *parameters: Array) -> Array:
            found = function(self.library.array(y), *self.native(parameters))
            return moved_to(checked_returned(found, (int(y.shape[0]), *shape), *what), self.__dict__["_unknown"])

        return map_sets(of_set, y, self._parameters, self.__dict__["_axes"], self.event_shape)

    def native(self, parameters: tuple[Array, ...]) -> tuple[Array, ...]:
        """Parameters in the library and type in which they were given."""
        libraries: tuple[Library, ...] = self.__dict__["_rows"]
        return tuple(library.array(x) for library, x in zip(libraries, parameters, strict=True))

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Call the sampler once a draw, with a generator seeded by the uniform numbers of the draw."""
        if self.__dict__["_pooled"]:
            return self.draws.draw(uniforms)
        if self.sampler is None:
            ways = "null='swap', which uses the draws" if self.draws is not None else "null='wild', which needs none"
            raise InputError(
                f"{type(self).__name__} says nothing that targets could be drawn from: pass sampler=function(rng, "
                f"*parameters), which returns one target a row, or use {ways}"
            )
        drawn = np.stack([self._sampled(row) for row in uniforms])
        if len(drawn) > 1 and np.array_equal(drawn[0], drawn[1]):
            raise InputError(
                "the sampler returned the same targets for two generators: it must draw with the generator that it is "
                "given, sampler(rng, *parameters), and not with one of its own"
            )
        return drawn

    def _sampled(self, uniforms: np.ndarray) -> np.ndarray:
        assert self.sampler is not None  # for the type checker
        rng = generator_of([int(u * 2.0**53) for u in uniforms[:4]], "sampler of a model")
        found = self.sampler(rng, *self.native(self._parameters))
        shape = (len(self), *self.event_shape)
        drawn = to_numpy(checked_returned(found, shape, "what the sampler returns", "one target a row"))
        bad = ~np.isfinite(drawn).reshape(len(self), -1).all(axis=1)
        if bad.any():
            raise InputError(f"the sampler returned a target that is not finite in row {int(np.argmax(bad))}: mend it")
        return drawn.astype(np.float64, copy=False)

    def pooled(self, y: Array) -> Self:
        """Batch in which the outcome is one more draw of its row, and targets are drawn from these."""
        if self.draws is None:
            raise InputError(
                f"null='swap' needs draws that the outcome may change places with: pass draws= to {type(self).__name__}"
            )
        return trusted(self, draws=self.draws.pooled(y), sampler=None, _pooled=True)


@dataclass(frozen=True, eq=False)
class Score(ScorePredictions):
    """Predictions known through their score functions ``grad_y log p_i(y)``: energy-based models, posteriors.

    Parameters
    ----------
    function : callable
        ``function(y, *parameters)`` with targets of shape ``(n, *event_shape)``, one a row, returns the scores, an
        array of the same shape. Row i of the result may depend on row i of the arguments only.
    parameters : array or tuple of arrays, optional
        What the function needs of every row, the rows on axis 0: conditions, weights, ``numpy.arange(n)`` for the
        numbers of the rows. Rows of them are taken along where rows are taken. Without, `n` must say how many rows
        there are, and no rows can be taken.
    event_shape : tuple of int, or int
        Shape of a target: () for numbers (default), (d,) for vectors.
    n : int, optional
        Number of rows, if there are no parameters.
    sampler : callable, optional
        ``sampler(rng, *parameters)`` with a NumPy generator returns one target a row, drawn from the prediction. It
        makes the exact test possible.
    draws : array of shape (n, S) or (n, S, d), or Samples, optional
        Independent draws from every prediction, in place of a sampler: the test is then ``null="swap"``, exact too.
    coordinates : array of shape (n, k), optional
        Numbers that describe the predictions, such as the conditions of a posterior: what metrics may compare.
    library : {"numpy", "torch", "jax"}, optional
        Where the function computes. Default: the library of the parameters, of a PyTorch module, else NumPy.

    Raises
    ------
    InputError
        If arrays do not fit together, and where a score is asked for that the function does not give.

    Notes
    -----
    Assumes densities that are positive and smooth everywhere. The function is called once a set of targets. A score
    does not see the proportions of modes that lie far apart.

    References
    ----------
    Glaser, Widmann, Lindsten, Gretton (2023), Sec. 3.

    Examples
    --------
    Densities proportional to ``exp(-(y - a)^4)``:

    >>> import numpy as np
    >>> from kernelcal.predictions import Score
    >>> predictions = Score(lambda y, a: -4 * (y - a) ** 3, parameters=np.array([0.0, 1.0]))
    >>> predictions.score(np.array([1.0, 3.0]))
    array([ -4., -32.])
    >>> predictions[1:].score(np.array([2.0]))
    array([-4.])
    """

    function: Callable[..., Any]
    parameters: Any = ()

    @property
    def given(self) -> tuple[Callable[..., Any], Any]:
        """The function and its parameters."""
        return self.function, self.parameters

    def scores(self, y: Array, *parameters: Array) -> Array:
        """Scores of one set of targets: what the function returns."""
        return self.function(y, *parameters)
