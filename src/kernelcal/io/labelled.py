"""Arrays with named axes: datasets of xarray, trees of them, inference data of ArviZ, and their files."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.io.columns import ReadOptions, listed
from kernelcal.io.roles import is_target, plain
from kernelcal.io.sources import Arrays

__all__ = ["Labelled", "in_labelled_file", "is_labelled", "labelled_source", "open_labelled"]


_FILES = (".nc", ".nc4", ".cdf", ".netcdf", ".zarr")
_ACROSS = {
    "samples": "member members number ensemble ens realization realisation sample samples draw draws chain scenario "
    "simulation trajectory ensemble_member",
    "quantiles": "quantile quantiles quantile_level level levels q tau",
    "classes": "class classes category categories label labels cls outcome_class",
}
_OBSERVED, _PREDICTIVE = "observed_data", ("posterior_predictive", "predictions", "prior_predictive")


class Labelled(Arrays):
    """Variables with the rows on axis 0: the axes of the outcomes, one after the other.

    Attributes
    ----------
    across : dict
        For a variable with one axis more what that axis tells, samples, quantiles or classes, and the column of its
        labels, where it has any.
    """

    def __init__(self, path: Any, columns: Mapping[str, np.ndarray], across: Mapping[str, tuple[str, str]]) -> None:
        super().__init__(path, columns)
        self.across = across


def is_labelled(x: Any) -> bool:
    """Tell whether something is a dataset or a tree of datasets, by the name and the module of its type."""
    library = type(x).__module__.split(".")[0]
    return library in ("xarray", "arviz", "arviz_base", "datatree") and type(x).__name__ in (
        "Dataset",
        "DataArray",
        "DataTree",
        "InferenceData",
    )


def in_labelled_file(path: Path) -> bool:
    """Tell whether a file (or the folder of a zarr store) holds arrays with named axes, by its suffix."""
    return path.suffix.lower() in _FILES


def open_labelled(path: Path, options: ReadOptions) -> Labelled:
    """Read a netCDF file or a zarr store."""
    try:
        import xarray
    except ImportError:
        raise MissingExtraError("xarray", "xarray", "reading netCDF files and zarr stores") from None
    if not path.exists():
        raise InputError(f"{path}: there is no such file")
    whole: Any
    engine = "zarr" if path.suffix.lower() == ".zarr" else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of stores that take longer to open
            with xarray.open_datatree(path, engine=engine) as tree:
                whole = tree.load()
    except (ImportError, ValueError, NotImplementedError, AttributeError, TypeError):  # classic netCDF has no groups
        whole = _one(path, engine, xarray)
    except (OSError, KeyError) as error:
        raise InputError(f"{path}: cannot be read: {str(error)[:200]}") from None
    if getattr(whole, "children", None) is not None and not dict(whole.children):
        whole = whole.to_dataset()
    return labelled_source(whole, options, path)


def _one(path: Path, engine: str | None, xarray: Any) -> Any:
    try:
        with xarray.open_dataset(path, engine=engine) as dataset:
            return dataset.load()
    except (ImportError, ValueError) as error:
        if "engine" in str(error) or isinstance(error, ImportError):
            raise MissingExtraError("h5netcdf", "xarray", f"reading {path.name}") from None
        raise InputError(f"{path}: cannot be read: {str(error)[:200]}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {str(error)[:200]}") from None


def labelled_source(x: Any, options: ReadOptions, path: Any = None) -> Labelled:
    """Columns of a dataset, or of the observed and predicted groups of inference data.

    Parameters
    ----------
    x : xarray.Dataset, xarray.DataArray, xarray.DataTree or arviz.InferenceData
        What holds outcomes and predictions.
    options : ReadOptions
        What was said; the target tells which axes hold the rows.
    path : object, optional
        What messages call it.

    Raises
    ------
    InputError
        Where no variable, or more than one, could be the target.
    """
    name = type(x).__name__ if path is None else path
    if type(x).__name__ == "DataArray":
        x = x.to_dataset(name=x.name or "values")
    if type(x).__name__ == "Dataset":
        return _of_dataset(x, _target_of(x, options, name), name)
    return _of_groups(x, options, name)


def _target_of(dataset: Any, options: ReadOptions, name: Any) -> str:
    variables = [str(variable) for variable in dataset.data_vars]
    if options.target:
        asked = options.target.split(",")[0].strip()
        if asked not in variables:
            raise InputError(f"{name}: there is no variable {asked!r}. The variables are {listed(variables)}")
        return asked
    found = [variable for variable in variables if is_target(variable)]
    if len(found) != 1:
        raise InputError(
            f"{name}: {'several variables have' if found else 'no variable has'} a usual name for outcomes: say which "
            f"holds them, --target NAME. The variables are {listed(variables)}"
        )
    return found[0]


def _of_dataset(dataset: Any, target: str, name: Any) -> Labelled:
    outcomes = dataset[target]
    rows = list(outcomes.dims)
    columns: dict[str, np.ndarray] = {}
    across: dict[str, tuple[str, str]] = {}
    for variable in [target, *(v for v in dataset.variables if v != target)]:
        values = dataset[variable]
        more = [dim for dim in values.dims if dim not in rows]
        if variable in rows and variable not in dataset.coords:
            continue
        if not rows or len(more) > 2 or (set(values.dims) and not set(values.dims) & set(rows)):
            continue
        kind = _kind_of(more)
        if len(more) == 2 and kind != "samples":
            continue
        whole = values.broadcast_like(outcomes).transpose(*rows, *more).values
        flat = whole.reshape(outcomes.size, *([-1] if more else []))
        columns[str(variable)] = flat
        if more and kind:
            across[str(variable)] = (kind, _labels(dataset, more, str(variable), kind, columns))
    return Labelled(name, columns, across)


def _kind_of(dims: Sequence[Any]) -> str:
    """What further axes of a variable tell, by their names."""
    kinds = {next((kind for kind, names in _ACROSS.items() if plain(str(d)) in names.split()), "") for d in dims}
    return kinds.pop() if len(kinds) == 1 else ""


def _labels(dataset: Any, dims: Sequence[Any], variable: str, kind: str, columns: dict[str, np.ndarray]) -> str:
    """Column of the levels or classes that the coordinate of an axis holds; none for draws."""
    if kind == "samples" or dims[0] not in dataset.coords:
        return ""
    labels = f"{variable}.{dims[0]}"
    columns[labels] = dataset.coords[dims[0]].values
    return labels


def _of_groups(tree: Any, options: ReadOptions, name: Any) -> Labelled:
    """The outcomes of the group observed_data, and draws of the same name in the group of predictions."""
    groups = [group.strip("/").split("/")[-1] for group in _groups(tree)]
    predictive = next((group for group in _PREDICTIVE if group in groups), None)
    if _OBSERVED not in groups or predictive is None:
        raise InputError(
            f"{name}: the groups {_OBSERVED} and {_PREDICTIVE[0]} are expected, got {listed(groups)}: draw outcomes "
            "from the model for every observed one, as sample_posterior_predictive of PyMC does, or pass one dataset"
        )
    observed, drawn = (_dataset(tree[group]) for group in (_OBSERVED, predictive))
    both = [str(variable) for variable in observed.data_vars if variable in drawn.data_vars]
    asked = [options.target] if options.target else both
    if len(asked) != 1 or asked[0] not in both:
        raise InputError(
            f"{name}: say which variable is meant, --target NAME: {_OBSERVED} and {predictive} both have {listed(both)}"
        )
    target, draws = observed[asked[0]], drawn[asked[0]]
    extra = [dim for dim in draws.dims if dim in ("chain", "draw", "sample")]
    rest = [dim for dim in draws.dims if dim not in extra]
    if len(rest) != len(target.dims):
        raise InputError(
            f"{name}: {asked[0]} has the axes {target.dims} in {_OBSERVED} and {draws.dims} in {predictive}"
        )
    values = draws.transpose(*rest, *extra).values
    column = f"{predictive}.{asked[0]}"
    columns = {asked[0]: target.values.ravel(), column: values.reshape(target.size, -1)}
    return Labelled(name, columns, {column: ("samples", "")})


def _groups(tree: Any) -> list[str]:
    return list(tree.children) if hasattr(tree, "children") else list(tree.groups())


def _dataset(group: Any) -> Any:
    return group.to_dataset() if hasattr(group, "to_dataset") and type(group).__name__ != "Dataset" else group
