"""Calibration in torchmetrics: modules that are updated batch by batch and merged across processes, on the sketch."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.kernels import Kernel, Laplacian
from kernelcal.pairs import RandomFourier
from kernelcal.predictions import Bernoulli, Categorical, Logits, Predictions, as_predictions
from kernelcal.randomness import generator_of
from kernelcal.sketch import Sketch, SketchResult

try:
    import torch
    from torch import Tensor

    from torchmetrics import Metric
except ImportError:  # the classes below say what is missing when one is made

    class _Absent:
        """Stands in for the class of torchmetrics where that is not installed."""

        def __init__(self, **_: Any) -> None:
            raise MissingExtraError("torchmetrics", "torchmetrics", "a metric module") from None

    Metric = _Absent


__all__ = ["CalibrationPValue", "KernelCalibrationError", "SketchMetric"]


_FEATURES, _DRAWS = 256, 199
_SHARE = 2**40  # row numbers of each process: parts of one epoch must not name a row twice
_NO_NAME = re.compile(r"\W")  # what a name of a state cannot hold


class SketchMetric(Metric):  # type: ignore[misc]
    """Base of the modules: its states are the sums of a `kernelcal.Sketch`, which add up over batches and processes.

    Parameters
    ----------
    num_classes : int, optional
        Number of classes; 2 for one probability a row as well.
    like : Predictions or what `as_predictions` takes, optional
        Some predictions, such as those of a first batch, in place of `num_classes`: the lengthscale is then their
        median distance, and families of numbers can be given too.
    prediction_kernel, target_kernel : Kernel, optional
        Kernels of the sketch. Without `like` the prediction kernel needs a lengthscale that is a number; default
        ``Laplacian(0.3)``.
    draws : int
        Sets of redrawn labels behind the p-value. Each costs memory and time.
    features : int
        Random Fourier features.
    seed : int
        Seed of features and draws, the same in all processes.
    logits : bool
        Whether `preds` are logits.
    part : int, optional
        Number of this module among those that will be merged; default: the rank of the process. Modules that are merged
        by hand (``merge_state``) need different ones, since a row must not be named twice.
    **options
        For ``torchmetrics.Metric``.

    Raises
    ------
    InputError
        For settings that a sketch refuses.
    MissingExtraError
        Without torchmetrics, the extra ``torchmetrics``.

    Notes
    -----
    States are sums of whole numbers, whose size does not grow with the rows: draws times features times classes. With
    default row numbers labels are redrawn by place, so p-values of other partitions of the rows differ as those of
    other seeds do, and each is exact; with `rows` they are the same. A sampler that repeats rows to make parts equal
    changes the p-value slightly; with `rows` the repetition is refused.

    Examples
    --------
    >>> import torch
    >>> from kernelcal.torchmetrics import CalibrationPValue, SketchMetric
    >>> metric = CalibrationPValue(2)
    >>> metric.update(torch.tensor([[0.9, 0.1], [0.3, 0.7]] * 20), torch.tensor([0, 1] * 20))
    >>> isinstance(metric, SketchMetric), metric.result().n
    (True, 40)
    """

    is_differentiable = False
    full_state_update = False

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        like: Any = None,
        prediction_kernel: Kernel | None = None,
        target_kernel: Kernel | None = None,
        draws: int = _DRAWS,
        features: int = _FEATURES,
        seed: int = 0,
        logits: bool = False,
        part: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if not isinstance(logits, bool | np.bool_):
            raise InputError(f"logits must be True or False, got {logits!r}")
        if part is not None and (isinstance(part, bool) or not isinstance(part, int | np.integer) or part < 0):
            raise InputError(f"part must be a whole number from 0, got {part!r}")
        self.logits, self.part, self._next, self._inside = bool(logits), part, 0, False
        some, self.num_classes = self._some(num_classes, like), num_classes
        settings: dict[str, Any] = {"target_kernel": target_kernel, "draws": draws, "rng": seed}
        settings |= {"engine": RandomFourier(features, seed), "second_moments": False}
        if like is None:
            made = Sketch(Laplacian(0.3) if prediction_kernel is None else prediction_kernel, **settings)
        else:
            made = Sketch.like(some, prediction_kernel, **settings)
        held = made.update(some.sample(rng=generator_of(0, "targets that a metric begins with"))[0], some).arrays()
        self._empty = made.empty()
        rows = {name: held.pop(name) for name in ("starts", "stops")}
        self._names = {f"sum_{k}_{_NO_NAME.sub('_', name)}": name for k, name in enumerate(held)}
        for state, name in self._names.items():
            self.add_state(state, torch.zeros(held[name].shape, dtype=torch.int64), "sum")
        for name in rows:
            self.add_state(name, [], "cat")

    def _some(self, num_classes: Any, like: Any) -> Predictions:
        """Two rows or more of the family that will be given."""
        if (num_classes is None) == (like is None):
            raise InputError("say num_classes or like=some_predictions, one of the two: it fixes the size of the sums")
        if like is not None:
            given: Predictions = self._read(like)
            return given
        if isinstance(num_classes, bool) or not isinstance(num_classes, int | np.integer) or num_classes < 2:
            raise InputError(f"num_classes must be a whole number from 2, got {num_classes!r}")
        if num_classes == 2:
            return Bernoulli(np.array([0.25, 0.75]))
        return Categorical(np.stack([np.full(num_classes, 1 / num_classes)] * 2))

    def _read(self, preds: Any) -> Any:
        """Predictions of a batch: gradients are dropped, and two columns are one probability."""
        if isinstance(preds, Predictions):
            return preds
        if isinstance(preds, Tensor):
            preds = preds.detach()
        batch = as_predictions(Logits(preds) if self.logits else preds)
        return Bernoulli(batch.probs[:, 1]) if isinstance(batch, Categorical) and batch.n_classes == 2 else batch

    def update(self, preds: Any, target: Any, *, rows: Any = None) -> None:
        """Add a batch.

        Parameters
        ----------
        preds : tensor of shape (n, classes) or (n,), or Predictions
            Probabilities, or logits where the module was told so.
        target : tensor of shape (n,)
            Class numbers, or outcomes.
        rows : tensor of n whole numbers, optional
            Identities of the rows, such as their indices in the data set: results are then the same for any partition.

        Raises
        ------
        InputError
            With the row and the remedy; nothing is added then.
        """
        batch, identities = self._read(preds), {"rows": rows}
        if rows is None:
            identities = {"first_row": self._first + self._next}
        found = self._empty.empty().update(target, batch, **identities).arrays()
        if rows is None:
            self._next += len(batch)
        for state, name in self._names.items():
            held: Tensor = getattr(self, state)
            setattr(self, state, held + torch.from_numpy(np.array(found[name])).to(held))
        for name in ("starts", "stops"):
            getattr(self, name).append(torch.from_numpy(np.array(found[name])).to(self.device))

    @property
    def _first(self) -> int:
        """Number of the first row of this process."""
        if self.part is not None:
            return int(self.part) * _SHARE
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        return torch.distributed.get_rank() * _SHARE if distributed else 0

    def reset(self) -> None:
        """Forget all rows; their numbers begin anew."""
        super().reset()
        if not self._inside:
            self._next = 0

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch and return the value of it alone."""
        self._inside = True  # it resets the states for a moment, and numbers of rows go on
        try:
            return super().forward(*args, **kwargs)
        finally:
            self._inside = False

    def sketch(self) -> Sketch:
        """Return the sums of all rows so far as a sketch, to be saved or added to others."""
        arrays: dict[str, Any] = {name: getattr(self, state).cpu().numpy() for state, name in self._names.items()}
        for name in ("starts", "stops"):
            held = getattr(self, name)  # a list, or one tensor after processes were merged
            parts = held if isinstance(held, list) else [held]
            arrays[name] = np.concatenate([np.zeros(0, np.int64), *(x.cpu().numpy().ravel() for x in parts)])
        return self._empty.with_arrays(arrays)

    def result(self, **options: Any) -> SketchResult:
        """Return all that the rows so far tell, `Sketch.result`: verdict, scores and binned errors too."""
        return self.sketch().result(**options)

    def compute(self) -> Any:
        """Return the value of all rows so far; nan of fewer than two."""
        sketch = self.sketch()
        value = float("nan") if sketch.n < 2 else self._value(sketch.result())
        return torch.tensor(value, dtype=torch.float64, device=self.device)

    def _value(self, result: SketchResult) -> float:
        raise NotImplementedError

    def extra_repr(self) -> str:
        """Return what tells this module from others."""
        return repr(self._empty)


class KernelCalibrationError(SketchMetric):
    """Squared kernel calibration error (SKCE, unbiased) as a module of torchmetrics.

    It may be slightly negative, and is 0 in the mean for a calibrated model. `SketchMetric` describes the parameters.

    Examples
    --------
    >>> import torch
    >>> from kernelcal.torchmetrics import KernelCalibrationError
    >>> metric = KernelCalibrationError(num_classes=3, draws=19, logits=True)
    >>> generator = torch.Generator().manual_seed(0)
    >>> for _ in range(3):
    ...     logits = 3 * torch.randn(50, 3, generator=generator)
    ...     metric.update(logits, torch.randint(3, (50,), generator=generator))
    >>> bool(metric.compute() > 0.05), metric.result().n
    (True, 150)
    """

    higher_is_better = False

    def _value(self, result: SketchResult) -> float:
        return float(result.estimate)


class CalibrationPValue(SketchMetric):
    """P-value of the exact calibration test as a module of torchmetrics.

    Small values speak against calibration: of a calibrated model it is at most a with probability at most a.
    `SketchMetric` describes the parameters.

    Examples
    --------
    >>> import torch
    >>> from kernelcal.torchmetrics import CalibrationPValue
    >>> metric = CalibrationPValue(num_classes=2, draws=99)
    >>> generator = torch.Generator().manual_seed(0)
    >>> p = torch.rand(500, generator=generator)
    >>> metric.update(p, torch.rand(500, generator=generator) < p**3)
    >>> metric.compute()
    tensor(0.0100, dtype=torch.float64)
    """

    higher_is_better = True

    def _value(self, result: SketchResult) -> float:
        assert result.test is not None  # for the type checker: a sketch always has one
        return float(result.test.pvalue)
