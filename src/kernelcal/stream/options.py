"""What is asked of one pass, and refused before anything is read: columns, key, draws, groups, lens, other sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from kernelcal.cases import refuse_lens
from kernelcal.defaults import DRAWS_OF_A_PASS
from kernelcal.errors import InputError
from kernelcal.io import ReadOptions
from kernelcal.io.columns import checked_options
from kernelcal.kernels import Laplacian
from kernelcal.lenses import Lens
from kernelcal.runs import Run
from kernelcal.sketch import Sketch, checked_pool, refuse_other_groups
from kernelcal.stream.batches import listed_names

__all__ = ["Asked", "read_options", "sketch_options", "with_key"]


_DEFAULTS: dict[str, Any] = {"draws": DRAWS_OF_A_PASS, "rng": 0, "engine": None}
_OF_SKETCH = ("prediction_kernel", "target_kernel", "bins", "second_moments")
_KEYED = "rows of one pass are told apart by key= (--key): say key='id' in place of row_id='id'"


@dataclass(frozen=True, eq=False)
class Asked:
    """What was said of one pass, checked.

    Attributes
    ----------
    run : Run
        How it is to be done.
    sketch : dict
        Options of the sketch.
    columns : ReadOptions
        What the columns hold, and which of them tell rows apart.
    lens : Lens or None
        What is asked.
    like : Sketch or None
        One whose settings and lengthscales are taken.
    """

    run: Run
    sketch: dict[str, Any]
    columns: ReadOptions
    lens: Lens | None
    like: Sketch | None

    @classmethod
    def of(
        cls,
        run: Run,
        columns: Mapping[str, Any],
        *,
        key: Any,
        lens: Lens | None,
        sketch: Mapping[str, Any] | None,
        pool_groups: int | None,
        like: Sketch | None = None,
    ) -> Self:
        """Refuse what is wrong, whatever the rows are."""
        options = sketch_options(run, sketch, pool_groups)
        asked = with_key(read_options(columns), key)
        refuse_lens(lens)
        if like is not None:
            _refuse_other_settings(like, options, asked, said={"sketch": sketch, "pool_groups": pool_groups})
        return cls(run, options, asked, lens, like)


def _refuse_other_settings(
    like: Any, options: Mapping[str, Any], asked: ReadOptions, *, said: Mapping[str, Any]
) -> None:
    """Refuse settings beside those of sums that are taken, unless they are the same."""
    if not isinstance(like, Sketch):
        raise InputError(f"like must be a Sketch, whose settings are taken, got {type(like).__name__}")
    own = {"draws": like.draws, "rng": like.seed, "engine": like.engine}
    other = [name for name, x in own.items() if options.get(name) not in (_DEFAULTS.get(name), x)]
    refuse_other_groups(like, asked.groups)
    other += [name for name, x in said.items() if x not in (None, {})]
    if other:
        raise InputError(f"{other[0]}= is said, and like= has its own settings: leave it out")


def sketch_options(run: Run, more: Mapping[str, Any] | None = None, pool_groups: Any = None) -> dict[str, Any]:
    """Options of the sketch of a run, or refuse them before anything is read; `empty_like` takes them."""
    if more is not None and not isinstance(more, Mapping):
        raise InputError(f"sketch must be a mapping of options, such as {{'bins': 20}}, got {more!r}")
    unknown = next((name for name in more or {} if name not in _OF_SKETCH), None)
    if unknown is not None:
        what = "is an option of its own" if unknown in ("draws", "rng", "engine") else "is no option of a sketch"
        raise InputError(f"sketch holds {unknown!r}, which {what}: its options are {', '.join(_OF_SKETCH)}")
    engine = {} if run.engine is None else {"engine": run.engine}
    options = {"draws": run.draws, "rng": run.rng, **engine, **(more or {})}
    Sketch(**{"prediction_kernel": Laplacian(), **options})  # refuses what is wrong
    return {**options, "pool_groups": checked_pool(pool_groups)}


def read_options(columns: Mapping[str, Any]) -> ReadOptions:
    """Options as the command line has them: lists of names are text with commas."""
    known = ReadOptions.known()
    unknown = next((name for name in columns if name not in known), None)
    if unknown is not None:
        raise InputError(
            f"there is no option {unknown!r} for rows of files and tables: options are {', '.join(sorted(known))}"
        )
    array = next((name for name, x in columns.items() if getattr(x, "shape", ())), None)
    if array is not None:
        raise InputError(
            f"{array}= names columns of files and tables, got {type(columns[array]).__name__} of shape "
            f"{columns[array].shape}: pass a name; arrays go with arrays, kernelcal.evaluate(y, p, {array}=...)"
        )
    return ReadOptions(**checked_options(columns))


def with_key(options: ReadOptions, key: Any) -> ReadOptions:
    """Options with the columns that tell rows apart: a name, several with commas or in a list, or None."""
    if options.row_id is not None:
        raise InputError(_KEYED)
    if key is None:
        return options
    several = list(key) if isinstance(key, list | tuple) else [None]
    names: list[Any] = key.split(",") if isinstance(key, str) else several
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise InputError(f"key must be the name of a column that tells rows apart, or a list of names, got {key!r}")
    names = names if isinstance(key, list | tuple) else [name.strip() for name in names]
    listed_names(names)  # refuses names with commas
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"key names the column {twice!r} twice: name each column once, got {key!r}")
    return replace(options, row_id=",".join(names))
