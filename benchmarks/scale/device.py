"""Data that are made on a device, and its clock and memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common.timing import WALL, best_of, seconds_of

GROUP, NONZEROS, PLANTED = 100, 20, 5
"""Columns that share their variance; planted columns; planted groups, where there are groups."""


def correlated(
    torch: Any, n: int, m: int, device: str, seed: int, group: int = 0
) -> tuple[Any, Any]:
    """X in groups of columns, and the numbers of the planted ones; of whole groups if asked."""
    width = group or GROUP
    generator = torch.Generator(device=device).manual_seed(seed)
    X = torch.empty((n, m), dtype=torch.float32, device=device)
    for i in range(0, n, 250):
        block = X[i : i + 250]
        block.normal_(generator=generator)
        shared = torch.empty(
            (len(block), -(-m // width)), dtype=torch.float32, device=device
        ).normal_(generator=generator)
        block += shared.repeat_interleave(width, dim=1)[:, :m]
        block *= 0.5**0.5
    if not group:
        return X, torch.linspace(0, m - 1, NONZEROS, device=device).long()
    heads = group * torch.linspace(0, m // group - 1, PLANTED, device=device).long()
    return X, (heads[:, None] + torch.arange(group, device=device)).flatten()


def responses(X: Any, planted: Any, seed: int) -> dict[str, np.ndarray]:
    """y for each loss."""
    signal = X[:, planted].double().sum(dim=1).cpu().numpy()
    noise = np.random.default_rng(seed).normal(size=len(signal))
    y = signal + noise * np.sqrt(np.var(signal) / 5.0)
    return {"squared": y, "logistic": np.where(y > 0, 1.0, -1.0)}


def labels(m: int, group: int) -> np.ndarray | None:
    """The group of each column."""
    return np.arange(m) // group if group else None


class Device:
    """The device asked for, its clock and its memory."""

    def __init__(self, torch: Any, name: str) -> None:
        self.torch, self.name = torch, name
        self.cuda = name.startswith("cuda")
        torch.backends.cuda.matmul.allow_tf32 = False

    def done(self) -> None:
        """Wait until the device is."""
        if self.cuda:
            self.torch.cuda.synchronize()

    def seconds(self, run: Any) -> float:
        """The best of several runs."""

        def once() -> None:
            run()
            self.done()

        once()
        return best_of(lambda: seconds_of(once, WALL))

    def peak(self) -> str:
        """Memory beyond X since the last question."""
        if not self.cuda:
            return ""
        used = self.torch.cuda.max_memory_allocated() / 2**30
        self.torch.cuda.reset_peak_memory_stats()
        return f"{used:.1f} GiB"
