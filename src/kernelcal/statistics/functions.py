"""Functions of statistics: ``skce(y, p, estimator="biased")`` is ``SKCE(estimator="biased")(y, p)``.

Every function is made from its class: the settings, their defaults and what is said of them stand there, once.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.statistics.base import Estimate, Statistic

__all__ = ["Function", "function_of"]


_DATA = ("y", "predictions", "weights", "classes", "normalize")
_SECTION = re.compile(r"^(Parameters|Returns|Raises|Warns|See Also|Notes|References|Examples)\n-+\n", re.M)

Settings = ParamSpec("Settings")
Found = TypeVar("Found", bound=Estimate, covariant=True)


class Estimating(Protocol[Found]):
    """What estimates from a case, such as a `Statistic`."""

    def estimated(self, case: Case) -> Found:
        """Estimate."""


class Function(Protocol[Settings, Found]):
    """Function of a statistic, as type checkers see it.

    A class tells them its settings, but no type can add ``weights``, ``classes`` and ``normalize`` to them: calls that
    name one of these are not checked for wrong settings before they run. All others are, and editors offer all names.
    """

    @overload
    def __call__(self, y: Any, predictions: Any, *args: Settings.args, **settings: Settings.kwargs) -> Found: ...
    @overload
    def __call__(
        self, y: Any, predictions: Any, *, weights: Any, classes: Any = None, normalize: bool = False, **settings: Any
    ) -> Found: ...
    @overload
    def __call__(
        self, y: Any, predictions: Any, *, classes: Any, weights: Any = None, normalize: bool = False, **settings: Any
    ) -> Found: ...
    @overload
    def __call__(
        self, y: Any, predictions: Any, *, normalize: bool, weights: Any = None, classes: Any = None, **settings: Any
    ) -> Found: ...


def function_of(
    statistic: Callable[Settings, Estimating[Found]], name: str = "", summary: str = "", /, **defaults: Any
) -> Function[Settings, Found]:
    """Make the function of a statistic: it takes targets, predictions and the settings of the class by name.

    Parameters
    ----------
    statistic : type
        A class of statistics.
    name : str
        Name of the function. Default: that of the class in small letters.
    summary : str
        First line of the docstring. Default: that of the class.
    **defaults
        Settings whose default is another one in the function, as ``norm="max"`` makes `mce` of `ECE`.

    Returns
    -------
    function
        With a signature that names every setting, its type and its default, and the docstring of the class.

    Raises
    ------
    InputError
        If a setting has the name of an argument for data.

    Examples
    --------
    >>> import inspect
    >>> from kernelcal.statistics import MMCE, function_of
    >>> mmce = function_of(MMCE)
    >>> list(inspect.signature(mmce).parameters)[:6]
    ['y', 'predictions', 'weights', 'classes', 'normalize', 'prediction_kernel']
    """
    made: Any = statistic
    title = name or made.__name__.lower()
    settings = _settings(made, defaults)

    def function(
        y: Any, predictions: Any, *, weights: Any = None, classes: Any = None, normalize: bool = False, **given: Any
    ) -> Found:
        unknown = [key for key in given if key not in settings]
        if unknown:
            raise InputError(f"{title} has no option {unknown[0]!r}; its options are {', '.join(settings)}")
        own: Estimating[Found] = made(**defaults | given)  # wrong settings are refused before data are looked at
        return own.estimated(Case.of(y, predictions, weights=weights, classes=classes, normalize=normalize))

    data = [p for p in inspect.signature(function, eval_str=True).parameters.values() if p.name != "given"]
    found = typing.get_type_hints(made.estimated).get("return", Estimate)
    parameters = [*data, *settings.values()]
    function.__name__ = function.__qualname__ = title
    function.__module__ = made.__module__
    function.__doc__ = _docstring(made, title, summary, defaults, settings, found)
    function.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": found}
    function.__signature__ = inspect.Signature(parameters, return_annotation=found)  # type: ignore[attr-defined]
    return typing.cast(Function[Settings, Found], function)


def _settings(statistic: Any, defaults: dict[str, Any]) -> dict[str, inspect.Parameter]:
    """Settings of a class as arguments that are given by name."""
    try:
        types = typing.get_type_hints(statistic)
    except NameError:  # a name that only type checkers import: then the annotation stays as it was written
        types = {}
    own = fields(statistic) if is_dataclass(statistic) else ()
    factories = {f.name: f.default_factory for f in own if f.default_factory is not MISSING}
    settings: dict[str, inspect.Parameter] = {}
    for name, given in inspect.signature(statistic).parameters.items():
        if name in _DATA:
            raise InputError(
                f"{statistic.__name__} has a setting {name!r}, as the argument for data is called: rename it"
            )
        default = factories[name]() if name in factories else given.default
        settings[name] = given.replace(
            kind=inspect.Parameter.KEYWORD_ONLY,
            annotation=types.get(name, given.annotation),
            default=defaults.get(name, default),
        )
    return settings


def _docstring(
    statistic: Any,
    title: str,
    summary: str,
    defaults: dict[str, Any],
    settings: dict[str, inspect.Parameter],
    found: Any,
) -> str:
    """Docstring of the class, with the arguments for data before its settings and what is returned after them."""
    head, *rest = _SECTION.split(inspect.getdoc(statistic) or f"{statistic.__name__}.")
    own = {name: text.strip("\n") for name, text in zip(rest[::2], rest[1::2], strict=True)}
    call = _SECTION.split(inspect.getdoc(Statistic.__call__) or "")
    shared = {name: text.strip("\n") for name, text in zip(call[1::2], call[2::2], strict=True)}
    described = own.pop("Parameters", "\n".join(settings))
    written = ", ".join([*(f"{key}={value!r}" for key, value in defaults.items()), "..."])
    sections = {
        "Parameters": f"{shared['Parameters']}\n{described}".rstrip(),
        "Returns": shared["Returns"].replace("Estimate", found.__name__, 1),
        "Raises": shared["Raises"],
        **own,
    }
    text = [
        summary or head.strip(),
        f"``{title}(y, predictions, ...)`` is ``{statistic.__name__}({written})(y, predictions)``.",
    ]
    text += [f"{name}\n{'-' * len(name)}\n{body}" for name, body in sections.items()]
    return "\n\n".join(text) + "\n"
