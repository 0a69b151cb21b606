"""Blocks of whole lines of a text: where rows begin, where a quoted line break ends none, and what ends a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from kernelcal.errors import InputError

__all__ = ["BLOCK", "LineBlock", "Lines", "blocks_of", "start_of"]


BLOCK = 2**23  # bytes read at a time
_LONGEST = 8  # blocks in which a line must end
_MARK = b"\xef\xbb\xbf"  # with which some programs begin UTF-8


@dataclass(frozen=True)
class LineBlock:
    """Whole lines: the byte with which they start, the lines of the file before them, and themselves."""

    start: int
    line: int
    text: bytes

    def beginning(self, lines: int) -> LineBlock:
        """Return its first lines, or some more where a quote is open there."""
        place = -1
        for _ in range(lines):
            place = self.text.find(b"\n", place + 1)
            if place < 0:
                return self
        return LineBlock(self.start, self.line, self.text[: _first_end(self.text, 0, place)])


class Lines:
    """Bytes of a file whose lines end as others do, also where a carriage return alone ends them."""

    def __init__(self, path: str) -> None:
        self._file: BinaryIO = open(path, "rb")  # noqa: SIM115  closed by the with statement
        start = self._file.read(BLOCK)
        self._returns = b"\r" in start and b"\n" not in start
        self._file.seek(0)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """Return the next bytes, as many as there are in the file."""
        found = self._file.read(size)
        return found.replace(b"\r", b"\n") if self._returns else found

    def seek(self, place: int) -> None:
        """Go to a byte."""
        self._file.seek(place)

    def tell(self) -> int:
        """Return the byte that comes next."""
        return self._file.tell()


def start_of(path: str, above: int, *, headless: bool) -> tuple[int, int]:
    """Byte and line with which rows begin: below lines that are left aside and, where there is one, the header."""
    with Lines(path) as file:
        text = file.read(len(_MARK))
        text = b"" if text == _MARK else text
        before = file.tell() - len(text)
        text += _more(file, path, text)
    skipped = 0
    for _ in range(above):
        skipped = text.find(b"\n", skipped) + 1
    skipped += len(text[skipped:]) - len(text[skipped:].lstrip(b"\r\n"))
    cut = skipped if headless else _first_end(text, skipped)
    return before + cut, text.count(b"\n", 0, cut)


def blocks_of(path: str, start: int, line: int) -> Iterator[LineBlock]:
    """Blocks from a byte on; a quoted line break does not end a line."""
    with Lines(path) as file:
        file.seek(start)
        rest = b""
        while True:
            more = _more(file, path, rest)
            text = rest + more
            if not text:
                return
            cut = _last_end(text) if more else len(text)
            yield LineBlock(start, line, text[:cut])
            start, line, rest = start + cut, line + text.count(b"\n", 0, cut), text[cut:]


def _more(file: Lines, path: str, rest: bytes) -> bytes:
    """As many bytes as it takes for a line to end; none at the end of the file."""
    found = file.read(BLOCK)
    while found and not _last_end(rest + found):
        if len(rest) + len(found) > _LONGEST * BLOCK:
            raise InputError(
                f"{path}: no line ends in {_LONGEST * BLOCK // 2**20} MiB: is a quote left open, or is this no text?"
            )
        further = file.read(BLOCK)
        if not further:
            break
        found += further
    return found


def _last_end(text: bytes) -> int:
    """Place after the last line break outside quotes, 0 if there is none."""
    cut = text.rfind(b"\n") + 1
    while cut and text.count(b'"', 0, cut) % 2:
        cut = text.rfind(b"\n", 0, text.rfind(b'"', 0, cut)) + 1
    return cut


def _first_end(text: bytes, start: int, place: int = 0) -> int:
    """Place after the first line break from a place on that is outside quotes, the end if there is none."""
    cut = text.find(b"\n", max(start, place)) + 1
    while cut and text.count(b'"', start, cut) % 2:
        cut = text.find(b"\n", cut) + 1
    return cut or len(text)
