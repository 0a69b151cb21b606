"""The file of a monitor: all numbers, keys and alarms, with a version and a checksum."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from kernelcal.errors import InputError
from kernelcal.files import checksum, read_archive, refuse_place, write_archive
from kernelcal.monitor.cells import Kind
from kernelcal.monitor.lanes import Lane, arrays_below
from kernelcal.monitor.wealth import Alarm

__all__ = ["read_monitor", "write_monitor"]


_FILE = ("kernelcal monitor", 1)


def write_monitor(monitor: Any, path: Any, *, backup: bool) -> None:
    """Write it whole or not at all, and keep the file that is replaced if `backup` says so."""
    refuse_place(path, suffixes=(".npz",), what="a monitor is an npz file", example="state")
    alarms = [None if x is None else [x.row, x.log_value, x.key] for x in (monitor.alarm, monitor.drift_alarm)]
    kind = None if monitor._kind is None else asdict(monitor._kind)
    options = {name: getattr(monitor, name) for name in ("alpha", "run_length", "horizon")} | {"rng": monitor.seed}
    head = {"options": options, "kind": kind, "lens": monitor._lens, "rows": monitor.rows, "alarms": alarms}
    sets = {"batches": dict(sorted(monitor._batches.items())), "drew": sorted(monitor._drew)}
    looks = {"history": [[k, n, _plain(a), _plain(b)] for k, n, a, b in monitor.history]}
    arrays = {f"{k}/{name}": x for k, lane in enumerate(monitor._lanes) for name, x in lane.arrays().items()}
    write_archive(
        path,
        _FILE,
        {**head, **sets, **looks, "notes": monitor.notes, "ruled_out": monitor.ruled_out},
        arrays,
        backup=backup,
    )


def read_monitor(cls: type[Any], path: Any) -> Any:
    """Make a monitor of its file, or refuse what is none."""
    head, arrays = read_archive(path, _FILE, "a monitor")
    if head.get("checksum") != checksum(head, arrays):
        raise InputError(f"{path} was altered after it was written, or is damaged: its checksum is another one")
    try:
        made = cls(**head["options"])
        made.rows, made._batches, made._drew = int(head["rows"]), dict(head["batches"]), set(head["drew"])
        made.alarm, made.drift_alarm = (None if one is None else Alarm(*one) for one in head["alarms"])
        made.history = [(k, n, _number(a), _number(b)) for k, n, a, b in head["history"]]
        made._lens, made.notes = str(head["lens"]), list(map(str, head.get("notes", ())))
        made.ruled_out = head.get("ruled_out")
        if head["kind"] is not None:
            own = {**head["kind"], "levels": tuple(head["kind"]["levels"])}
            own["names"] = None if own["names"] is None else tuple(own["names"])
            made._kind = Kind(**own)
            made._lanes = [Lane.of_arrays(made._kind, arrays_below(f"{k}/", arrays)) for k in range(made.horizon)]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"{path} is not a whole monitor: {type(error).__name__}, {error}") from None
    return made


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: float | None) -> float:
    return -math.inf if value is None else float(value)
