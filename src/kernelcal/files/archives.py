"""Numbers that are saved: npz files with settings, version and checksum, no pickles, written whole or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.files.outputs import refuse_place, written_whole

__all__ = [
    "InMemory",
    "archive_bytes",
    "checksum",
    "format_of",
    "read_archive",
    "what_we_wrote",
    "write_archive",
    "wrong_format",
]


_DAMAGED = Exception  # of bytes with errors zipfile, zlib, lzma, NumPy, tokenize and json raise a dozen kinds


def write_archive(
    path: Any, kind: tuple[str, int], settings: dict[str, Any], arrays: dict[str, np.ndarray], *, backup: bool = False
) -> None:
    """Write the whole file beside its place, then move it there: a reader finds the old file or the new one.

    `kind` is the name of the format and its version; `backup` keeps the old file, as `backup_of` names it.
    """
    with written_whole(refuse_place(path), backup=backup) as unfinished, open(unfinished, "wb") as file:
        _write(file, kind, settings, arrays)


def archive_bytes(kind: tuple[str, int], settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Return the bytes that `write_archive` writes."""
    buffer = io.BytesIO()
    _write(buffer, kind, settings, arrays)
    return buffer.getvalue()


def _write(file: Any, kind: tuple[str, int], settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    settings = {**settings, "checksum": checksum(settings, arrays)}
    head = json.dumps({"format": kind[0], "version": kind[1], **settings})
    np.savez(file, settings=np.array(head), **{f"/{name}": x for name, x in arrays.items()})  # type: ignore[arg-type]


def checksum(settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    """Number that changes with any setting, any array, its type and its shape; notes are words and are left out."""
    told = {name: value for name, value in settings.items() if name not in ("notes", "checksum")}
    found = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    for name in sorted(arrays):
        x = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {x.dtype.str} {np.shape(arrays[name])} ".encode())
        found.update(x.tobytes())
    return found.hexdigest()


def read_archive(path: Any, kind: tuple[str, int], what: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return settings and arrays, or refuse what is not a whole file of this kind; `what` it is, in words.

    The path may be what `archive_bytes` made, as `InMemory`.
    """
    if not isinstance(path, str | os.PathLike | InMemory):
        raise InputError(f"{what} is read from a file: pass its path, got {path!r:.60}")
    try:
        with _opened(path) as stream, np.load(stream, allow_pickle=False) as file:
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
        own = what_we_wrote(path, but=kind[0])
        damage = "no archive of numbers" if "pickle" in str(error) else str(error)  # NumPy proposes to open pickles
        why = f"it is {own}" if own else f"or it is damaged ({type(error).__name__}): {damage}"
        raise InputError(f"{path} is not {what}, {why}") from None
    if found != kind:
        raise InputError(f"{path} is {wrong_format(found, kind)}")
    return settings, {name.removeprefix("/"): x for name, x in arrays.items()}


class InMemory:
    """Bytes of an archive, read as a file is; messages call them by a name."""

    def __init__(self, content: Any, name: str) -> None:
        if not isinstance(content, bytes | bytearray | memoryview):
            raise InputError(f"{name} are expected as bytes, got {type(content).__name__}")
        self.content, self._name = bytes(content), name

    def __str__(self) -> str:
        return self._name


def _opened(path: Any) -> Any:
    return io.BytesIO(path.content) if isinstance(path, InMemory) else open(path, "rb")


def wrong_format(found: tuple[Any, Any], kind: tuple[str, int]) -> str:
    """Format and version that were found where another was expected, and what reads such a file."""
    ways = _WAYS.get(found[0]) if isinstance(found[0], str) and found[0] != kind[0] else None
    said = f"written as {found[0]!r} version {found[1]!r}, this reads {kind[0]!r} {kind[1]}"
    if found[0] == kind[0]:
        return f"{said}: make it again from what it was made of, or read it with the kernelcal that wrote it"
    return f"{said}: it is {ways}" if ways else said


_WAYS = {
    "kernelcal sketch": "what evaluate --save wrote, and 'kernelcal merge' reads it (kernelcal.Sketch.load)",
    "kernelcal groups": (
        "what evaluate --save wrote with --groups, and 'kernelcal merge' reads it (kernelcal.sketch.load_sketch)"
    ),
    "kernelcal monitor": "the state of a monitor, and 'kernelcal monitor --state' reads it (kernelcal.Monitor.load)",
    "kernelcal recalibration": (
        "a map of recalibrate --save, and 'kernelcal recalibrate TABLE --apply' uses it "
        "(kernelcal.recalibration.Recalibration.load)"
    ),
}
_RESULT = "what --json printed, a result: name the file of predictions that it was computed from"
_HEAD = re.compile(r'\s*\{\s*"format":\s*"(kernelcal [a-z]+)"')
_READ = re.compile(r'\s*(\[\s*)?\{\s*"read":\s*"read ')


def what_we_wrote(path: Any, but: str = "") -> str:
    """What a file is, and what reads it, if the library wrote it: such files are given as tables.

    Nothing is said of other files, and of those of the format `but`, which was expected and is damaged.
    """
    head = _beginning(path)
    found = _HEAD.match(head)
    if found is None:
        return _RESULT if _READ.match(head) else ""
    return _WAYS.get(found[1], "") if found[1] != but else ""


def format_of(path: Any) -> str:
    """Name of the format of a file that the library wrote; empty of others and of what cannot be read."""
    found = _HEAD.match(_beginning(path))
    return "" if found is None else found[1]


def _beginning(path: Any) -> str:
    try:
        with _opened(path) as stream:
            packed = zipfile.is_zipfile(stream)
            stream.seek(0)
            return _settings(stream) if packed else stream.read(200).decode("utf-8", "replace")
    except _DAMAGED:
        return ""


def _settings(stream: Any) -> str:
    """Beginning of the settings of an archive of ours; all its other names begin with a stroke."""
    with np.load(stream, allow_pickle=False) as file:
        ours = "settings" in file.files and all(name == "settings" or name.startswith("/") for name in file.files)
        return str(file["settings"])[:200] if ours else ""
