"""A fitted map of classes as a module of PyTorch: logits in, logarithms of better probabilities out."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.recalibration.class_maps import BoundedScaling, ClassMap, Identity, Isotonic, Temperature
from kernelcal.recalibration.curve_maps import Platt, Quadratic, Spline, VennAbers
from kernelcal.recalibration.pool import Pool

__all__ = ["torch_module"]


def torch_module(pool: Pool, floor: float, columns: int) -> Any:
    """Return a ``torch.nn.Module`` that does what a pool does, differentiable in its logits."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError("PyTorch", "torch", "a module of PyTorch") from None

    class RecalibratedLogits(torch.nn.Module):  # type: ignore[misc]
        """Logits of shape (..., k) to logarithms of recalibrated probabilities, in the dtype of the logits."""

        def __init__(self) -> None:
            super().__init__()
            self.floor, self.first, self.columns = floor, pool.first, columns
            self.kinds = [type(one) for one in pool.maps]
            self.register_buffer("weights", torch.tensor(pool.weights, dtype=torch.float64))
            for k, one in enumerate(pool.maps):
                for name, values in _numbers(one).items():
                    self.register_buffer(f"map_{k}_{name}", torch.tensor(values, dtype=torch.float64))

        def forward(self, logits: Any) -> Any:
            """Return logarithms of probabilities."""
            if logits.shape[-1] != self.columns:
                raise InputError(
                    f"this map was fitted to {self.columns} classes, got logits of shape {tuple(logits.shape)}: of one "
                    "logit z pass torch.stack([torch.zeros_like(z), z], dim=-1)"
                )
            flat = logits.reshape(-1, self.columns)
            logs = torch.log_softmax(flat, dim=-1).clamp(min=self.floor)
            tempered = torch.log(_tempered(logs, self.first))
            total = torch.zeros_like(logs)
            for k, kind in enumerate(self.kinds):
                own = {name.split("_", 2)[2]: b for name, b in self.named_buffers() if name.startswith(f"map_{k}_")}
                own = {name: values.to(logs) for name, values in own.items()}
                x = tempered if kind.tempered else logs
                total = total + self.weights[k].to(logs) * rule_of[kind](x, own)
            return torch.log(total).reshape(logits.shape)

    def _tempered(logs: Any, first: Temperature) -> Any:
        return (1 - first.mixed) * torch.softmax(first.power * logs, dim=-1) + first.mixed / logs.shape[-1]

    def identity(logs: Any, own: dict[str, Any]) -> Any:
        return torch.softmax(logs, dim=-1)

    def temperature(logs: Any, own: dict[str, Any]) -> Any:
        return (1 - own["mixed"]) * torch.softmax(own["power"] * logs, dim=-1) + own["mixed"] / logs.shape[-1]

    def scaling(logs: Any, own: dict[str, Any]) -> Any:
        moved = torch.softmax(logs + logs @ own["matrix"].T + own["shift"], dim=-1)
        return (1 - own["mixed"]) * moved + own["mixed"] * torch.softmax(logs, dim=-1)

    def bounded(logs: Any, own: dict[str, Any]) -> Any:
        return scaling(logs.shape[1] * torch.softmax(logs, dim=-1), own)

    def steps(logs: Any, own: dict[str, Any]) -> Any:
        columns = [
            own[f"steps_{c}"][torch.searchsorted(own[f"ends_{c}"], logs[:, c].detach().contiguous())]
            for c in range(logs.shape[1])
        ]
        p = (1 - own["mixed"]) * torch.stack(columns, dim=1) + own["mixed"] * torch.softmax(logs, dim=-1)
        return p / p.sum(dim=1, keepdim=True)

    def both(score: Any) -> Any:
        return torch.stack([torch.sigmoid(-score), torch.sigmoid(score)], dim=1)

    def line(logs: Any, own: dict[str, Any]) -> Any:
        return both(own["shift"] + own["slopes"][0] * (logs[:, 1] - logs[:, 0]))

    def parabola(logs: Any, own: dict[str, Any]) -> Any:
        low, high = own["knots"]

        def rising(t: Any) -> Any:
            s = (t - low) / (high - low)
            return (high - low) * (s.clamp(0, 1) ** 2 / 2 + (s - 1).clamp(min=0))

        x = logs[:, 1] - logs[:, 0]
        up = rising(x) - rising(torch.zeros_like(x))
        return both(own["shift"] + own["slopes"][0] * (x - up) + own["slopes"][1] * up)

    def broken(logs: Any, own: dict[str, Any]) -> Any:
        x, knots = logs[:, 1] - logs[:, 0], own["knots"]
        most = torch.finfo(x.dtype).max
        ends = torch.cat([knots.new_full((1,), -most), knots, knots.new_full((1,), most)])
        zero = torch.zeros_like(x)
        score = own["shift"] + zero
        for slope, a, b in zip(own["slopes"], ends[:-1], ends[1:], strict=True):
            score = score + slope * (torch.clamp(x, a, b) - torch.clamp(zero, a, b))
        return both(score)

    def venn_abers(logs: Any, own: dict[str, Any]) -> Any:
        at = torch.searchsorted(own["places"], (logs[:, 1] - logs[:, 0]).detach().contiguous())
        p = own["high"][at] / (1 - own["low"][at] + own["high"][at])
        return torch.stack([1 - p, p], dim=1)

    rules = {
        Identity: identity,
        Temperature: temperature,
        BoundedScaling: bounded,
        Isotonic: steps,
        Platt: line,
        Quadratic: parabola,
        Spline: broken,
        VennAbers: venn_abers,
    }
    rule_of = {type(one): rules.get(type(one), scaling) for one in pool.maps}
    return RecalibratedLogits()


def _numbers(one: ClassMap) -> dict[str, Any]:
    """Numbers of a map by name, of lists of arrays an array each."""
    found: dict[str, Any] = {}
    for name, values in vars(one).items():
        if isinstance(values, list | tuple):
            found |= {f"{name}_{k}": np.asarray(part) for k, part in enumerate(values)}
        else:
            found[name] = values
    return found
