"""Numbers that are saved: npz files with settings, version and checksum, no pickles, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

from kernelcal.errors import InputError
from kernelcal.surroundings.outputs import refuse_place, written_whole

if TYPE_CHECKING:  # this room is entered before anything that takes time
    import numpy as np

__all__ = ["checksum", "read_archive", "write_archive"]


_DAMAGED = (
    *(ValueError, KeyError, TypeError, AttributeError, EOFError, NotImplementedError),
    *(zipfile.BadZipFile, zlib.error, RecursionError, MemoryError),  # nested without end, a shape of 10^12 numbers
)


def write_archive(path: Any, kind: tuple[str, int], settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write the whole file beside its place, then move it there: a reader finds the old file or the new one.

    `kind` is the name of the format and its version.
    """
    import numpy as np  # as below: not before interrupts are caught

    settings = {**settings, "checksum": checksum(settings, arrays)}
    head = json.dumps({"format": kind[0], "version": kind[1], **settings})
    with written_whole(refuse_place(path)) as unfinished, open(unfinished, "wb") as file:
        np.savez(file, settings=np.array(head), **{f"/{name}": x for name, x in arrays.items()})  # type: ignore[arg-type]


def checksum(settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    """Number that changes with any setting, any array, its type and its shape; notes are words and are left out."""
    import numpy as np

    told = {name: value for name, value in settings.items() if name not in ("notes", "checksum")}
    found = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    for name in sorted(arrays):
        x = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {x.dtype.str} {np.shape(arrays[name])} ".encode())
        found.update(x.tobytes())
    return found.hexdigest()


def read_archive(path: Any, kind: tuple[str, int], what: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return settings and arrays, or refuse what is not a whole file of this kind; `what` it is, in words."""
    import numpy as np

    if not isinstance(path, str | os.PathLike):
        raise InputError(f"{what} is read from a file: pass its path, got {path!r:.60}")
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        settings = json.loads(str(arrays.pop("settings")))
        found = settings.pop("format"), settings.pop("version")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder: name the file in it that {what} was saved to") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    except _DAMAGED as error:
        raise InputError(f"{path} is not {what}, or it is damaged ({type(error).__name__}): {error}") from None
    if found != kind:
        raise InputError(f"{path} is written as {found[0]!r} version {found[1]!r}, this reads {kind[0]!r} {kind[1]}")
    return settings, {name.removeprefix("/"): x for name, x in arrays.items()}
