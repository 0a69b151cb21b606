"""What the checks share: a broken contract is told in words, with the numbers that break it."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from kernelcal.arrays import namespace, to_numpy
from kernelcal.errors import InputError, MissingExtraError

__all__ = [
    "LIBRARIES",
    "arrays_of",
    "claim",
    "close",
    "contract",
    "installed",
    "read_only",
    "refused",
    "same_library",
    "settings_are_fixed",
    "tells_what_to_do",
    "untouched",
    "within_binomial_bounds",
]


LIBRARIES = ("array_api_strict", "torch")  # asked where nothing is said, if installed; "jax" takes seconds to compile
_CHANCE = 1e-6  # with which a bound on simulated frequencies fails a subject that is right


@contextlib.contextmanager
def contract(subject: Any, sentence: str) -> Iterator[None]:
    """Put the subject and the sentence of its contract before whatever fails inside."""
    try:
        yield
    except MissingExtraError:
        raise
    except AssertionError as error:
        raise AssertionError(f"{_name(subject)}: {sentence}. {error}") from None
    except Exception as error:
        told = f"It raised {type(error).__name__}: {str(error)[:300]}"
        raise AssertionError(f"{_name(subject)}: {sentence}. {told}") from error


def _name(subject: Any) -> str:
    if hasattr(subject, "__name__"):
        return str(subject.__name__)
    if hasattr(subject, "map_arrays"):
        return type(subject).__name__
    text = repr(subject)
    return text if len(text) <= 80 and "\n" not in text and " at 0x" not in text else type(subject).__name__


def claim(holds: Any, found: str) -> None:
    """Fail with what was found unless something holds."""
    if not holds:
        raise AssertionError(f"Here {found}")


def close(found: Any, expected: Any, *, rtol: float = 1e-10, atol: float = 1e-13, what: str = "the value") -> None:
    """Compare arrays, shapes included, and tell the place where they differ most."""
    found, expected = np.asarray(to_numpy(found)), np.asarray(to_numpy(expected))
    claim(found.shape == expected.shape, f"{what} has shape {found.shape}, expected {expected.shape}")
    found, expected = (x.astype(np.float64) if x.dtype == bool else x for x in (found, expected))
    if not found.size:
        return
    with np.errstate(invalid="ignore", over="ignore"):
        wrong = ~np.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)
        distance = np.where(wrong, np.nan_to_num(np.abs(found - expected), nan=np.inf), -1.0)
    if wrong.any():
        place = tuple(int(k) for k in np.unravel_index(int(distance.argmax()), found.shape))
        where = f" at {list(place)}" if place else ""
        raise AssertionError(
            f"Here {what} is {found[place]:.12g}{where}, expected {expected[place]:.12g} "
            f"({int(wrong.sum())} of {found.size} differ by more than rtol={rtol:g}, atol={atol:g})"
        )


def refused(call: Callable[[], Any], what: str, *, words: Iterable[str] = ()) -> None:
    """Expect an `InputError` whose message is one that helps."""
    try:
        found = call()
    except (InputError, MissingExtraError) as error:
        tells_what_to_do(str(error), words)
        return
    except Exception as error:
        raise AssertionError(
            f"Here {what} raised {type(error).__name__} ({str(error)[:200]}), expected kernelcal.errors.InputError"
        ) from error
    raise AssertionError(f"Here {what} was accepted and gave {str(found)[:80]}, expected kernelcal.errors.InputError")


def tells_what_to_do(message: str, words: Iterable[str] = ()) -> None:
    """Expect a sentence with some words, not an empty or a bare message."""
    claim(len(message.split()) >= 4, f"the message is {message!r}: say what was given, what is expected, what to do")
    for word in words:
        claim(word in message, f"the message does not name {word!r}: {message[:200]!r}")


def settings_are_fixed(subject: Any, *, key: bool = True) -> None:
    """Expect a frozen dataclass that equals its copy and, where it is used as a `key`, hashes as it."""
    with contract(subject, "it is a frozen dataclass: settings print, compare and never change"):
        kind = type(subject)
        claim(dataclasses.is_dataclass(kind), f"{kind.__name__} is none: decorate it with @dataclass(frozen=True)")
        frozen = kind.__dataclass_params__.frozen
        claim(frozen, f"{kind.__name__} can be changed after it was made: write @dataclass(frozen=True)")
        if not key and not kind.__dataclass_params__.eq:  # it holds arrays
            return
        again = kind(**{f.name: getattr(subject, f.name) for f in dataclasses.fields(subject) if f.init})
        claim(again == subject, "a copy with the same settings is not equal to it")
        claim(not key or hash(again) == hash(subject), "a copy with the same settings has another hash")


def installed(libraries: Iterable[str]) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Array libraries by name, those that are installed, each with the function that moves NumPy arrays to it."""
    for name in libraries:
        claim(name in _MOVE, f"libraries names {name!r}, which is none of {', '.join(map(repr, _MOVE))}")
        if importlib.util.find_spec(name) is not None:
            yield name, _MOVE[name]


def _to_torch(x: Any) -> Any:
    import torch

    return torch.tensor(np.asarray(x))


def _to_jax(x: Any) -> Any:
    import jax

    return jax.numpy.asarray(np.asarray(x))


def _to_strict(x: Any) -> Any:
    import array_api_strict

    return array_api_strict.asarray(np.asarray(x))


_MOVE: dict[str, Callable[[Any], Any]] = {"array_api_strict": _to_strict, "torch": _to_torch, "jax": _to_jax}


def same_library(found: Any, like: Any, what: str) -> None:
    """Expect an array of the library of another one."""
    claim(
        type(found) is type(like),
        f"{what} is a {type(found).__module__}.{type(found).__name__} for predictions of {type(like).__module__}: "
        "take functions from array_api_compat.array_namespace(x), not from NumPy",
    )


def precision(x: Any) -> float:
    """Rounding of one operation in the dtype of an array."""
    return float(namespace(x).finfo(x.dtype).eps)


def read_only(predictions: Any) -> Any:
    """Copy of predictions whose arrays may not be written."""

    def locked(x: Any) -> np.ndarray:
        copy = np.array(to_numpy(x))
        copy.setflags(write=False)
        return copy

    return predictions.map_arrays(locked)


@contextlib.contextmanager
def untouched(**given: Any) -> Iterator[None]:
    """Expect that arrays, and the arrays of predictions, hold afterwards what they held before."""
    before = {name: _copies(value) for name, value in given.items()}
    yield
    for name, value in given.items():
        for old, new in zip(before[name], _copies(value), strict=True):
            same = np.array_equal(old, new, equal_nan=old.dtype.kind in "fc")
            claim(same, f"{name} changed: work on a copy, what is given belongs to the caller")


def _copies(value: Any) -> list[np.ndarray]:
    arrays = arrays_of(value) if hasattr(value, "map_arrays") else [value]
    return [np.array(to_numpy(x)) for x in arrays]


def arrays_of(predictions: Any) -> list[Any]:
    """The arrays of predictions, as map_arrays meets them."""
    found: list[Any] = []

    def keep(x: Any) -> Any:
        found.append(x)
        return x

    predictions.map_arrays(keep)
    return found


def within_binomial_bounds(hits: int, tries: int, *, most: float = 1.0, least: float = 0.0, what: str) -> None:
    """Expect a share of hits that a probability of at most `most` and at least `least` explains."""
    from scipy.special import bdtr, bdtrc

    share = f"{what} in {hits} of {tries} simulated data sets"
    too_many = hits > 0 and most < 1 and bdtrc(hits - 1, tries, most) < _CHANCE
    claim(not too_many, f"{share}, expected at most {most:.3g} of them ({math.ceil(most * tries)})")
    too_few = least > 0 and bdtr(hits, tries, least) < _CHANCE
    claim(not too_few, f"{share}, expected at least {least:.3g} of them ({math.floor(least * tries)})")
