"""Files that are written: refused before the work where they could not be, written whole or not at all."""

from __future__ import annotations

import errno
import importlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kernelcal.errors import InputError

__all__ = ["backup_of", "in_turn", "refuse_place", "written_whole"]


# elsewhere files cannot be replaced while somebody holds them, so that there are no locks
fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None


def refuse_place(path: Any, *, suffixes: tuple[str, ...] = (), what: str = "a file", example: str = "result") -> Path:
    """Refuse a place that could not be written to, before the work and not after it.

    Parameters
    ----------
    path : str or pathlib.Path
        Where something is to be written.
    suffixes : tuple of str
        Endings that its name may have; any, if there are none.
    what, example : str
        What is written, and a name for it without its ending, for messages.

    Returns
    -------
    pathlib.Path
        The place, as it was given.

    Raises
    ------
    InputError
        For a folder, a device or a pipe, an ending of another kind of file, a folder that is not there or takes no
        files, a file that may not be changed, and a name that the system refuses.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"{what} is written to a place: pass its name, got {path!r:.60}")
    path = Path(path)
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder: name a file in it, such as {path / (example + (*suffixes, '')[0])}")
        if suffixes and path.suffix.lower() not in suffixes:
            ends = " or ".join(suffixes)
            raise InputError(f"{what}: its name ends in {ends}, got {path}")
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is a device or a pipe, no file: name a file that may be replaced")
        place = Path(os.path.realpath(path))
        if not place.parent.is_dir():
            raise InputError(f"{path}: there is no folder {path.parent}: make it first, or name another")
        if place.exists() and not os.access(place, os.W_OK):
            raise InputError(f"{path} may not be changed: name another file, or allow it to be written")
        if place.is_symlink():
            raise InputError(f"{path} is a link that leads to itself: remove it, or name another place")
        _try(place)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{path} cannot be written ({why}): name another place") from None
    return path


def _try(place: Path) -> None:
    """Make a file beside the place and take it away, and ask the system whether it takes the name."""
    beside = _beside(place)
    beside.open("xb").close()
    beside.unlink(missing_ok=True)
    place.exists()  # a name that is too long is an error here


_BESIDE = ".kernelcal.*.part"


def _beside(place: Path) -> Path:
    return place.with_name(f".kernelcal.{os.urandom(4).hex()}.part")  # a name that nothing reads


def backup_of(path: Any) -> Path:
    """Return the name of the file that was replaced last, where it is kept: no table is read by such a name."""
    return Path(f"{path}.before")


@contextmanager
def written_whole(path: Any, *, backup: bool = False) -> Iterator[Path]:
    """Yield a name beside the place; what was written there is moved to the place when it is whole.

    What was there before stays until then, and where the work fails. A link stays a link: the file that it points to is
    replaced. Permissions of a file that is replaced are kept. Errors name the place, not the file beside it. What
    processes that were killed have left in the folder is taken away. With `backup` the file that is replaced is kept.
    """
    place = Path(os.path.realpath(path))
    beside = _beside(place)
    _clear(place.parent)
    try:
        with _held(beside):
            yield beside
            with beside.open("rb+") as file:
                if not os.fstat(file.fileno()).st_size:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(beside))
                os.fsync(file.fileno())
            if place.exists():
                os.chmod(beside, place.stat().st_mode)
                if backup:
                    _keep(place, backup_of(path))
            os.replace(beside, place)
    except OSError as error:
        if error.filename is None or Path(error.filename).name != beside.name:
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from None
    finally:
        beside.unlink(missing_ok=True)


def _keep(place: Path, backup: Path) -> None:
    """Give the file that is about to be replaced a second name; a copy where files have one name only."""
    backup.unlink(missing_ok=True)  # a kill here leaves no backup of a file that is whole
    try:
        os.link(place, backup)
    except OSError:
        shutil.copy2(place, backup)


@contextmanager
def _held(beside: Path) -> Iterator[None]:
    """Make the file and hold a lock of it, which the system lets go of however the process ends."""
    if fcntl is None:
        yield
        return
    number = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
    try:
        with suppress(OSError):  # a file system without locks: there nothing is cleared either
            fcntl.flock(number, fcntl.LOCK_EX)
        if not beside.exists():  # cleared by another process before the lock: it is made by its writer, without one
            beside.touch()
        yield
    finally:
        os.close(number)


@contextmanager
def in_turn(path: Any) -> Iterator[None]:
    """Wait until nobody else reads and replaces files of this folder in turn: what two processes add is kept.

    The folder is locked, so that nothing is left beside the file; the system lets go however the process ends. Where
    there are no locks (on Windows, and on some network disks) nobody waits.
    """
    if fcntl is None:
        yield
        return
    number = os.open(Path(os.path.realpath(path)).parent, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)


def _clear(folder: Path) -> None:
    """Take away files beside places whose writers are dead: nobody holds their lock."""
    if fcntl is None:
        return
    for left in folder.glob(_BESIDE):
        with suppress(OSError):  # of somebody else, gone meanwhile, or held by a process that lives
            number = os.open(left, os.O_RDWR)
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
            finally:
                os.close(number)
