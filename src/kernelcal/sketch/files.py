"""Sketches in files: arrays and JSON text in an npz, nothing that is run when it is read."""

from __future__ import annotations

import json
import os
import secrets
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.errors import InputError

__all__ = ["read", "write"]


_FORMAT, _VERSION = "kernelcal sketch", 1
_DAMAGED = (
    *(ValueError, KeyError, TypeError, AttributeError, EOFError, NotImplementedError),
    *(zipfile.BadZipFile, zlib.error, RecursionError, MemoryError),  # nested without end, a shape of 10^12 numbers
)


def write(path: Any, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write the whole file beside its place, then move it there: a reader finds the old file or the new one."""
    path = Path(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    head = json.dumps({"format": _FORMAT, "version": _VERSION, **settings})
    try:
        with open(beside, "xb") as file:
            np.savez(file, settings=np.array(head), **{f"/{name}": x for name, x in arrays.items()})  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def read(path: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return settings and arrays, or refuse what is not a whole sketch."""
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        settings = json.loads(str(arrays.pop("settings")))
        found = settings.pop("format"), settings.pop("version")
    except _DAMAGED as error:
        raise InputError(f"{path} is not a sketch, or it is damaged ({type(error).__name__}): {error}") from None
    if found != (_FORMAT, _VERSION):
        raise InputError(f"{path} is written as {found[0]!r} version {found[1]!r}, this reads {_FORMAT!r} {_VERSION}")
    return settings, {name.removeprefix("/"): x for name, x in arrays.items()}
