"""The made table of docs/commandline.md: 240 patients who never lived."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl


def patients(seed: int = 8) -> pl.DataFrame:
    """Two responses, `days` and `relapse`; text in three columns, seven gaps in `bmi`."""
    rng = np.random.default_rng(seed)
    n = 240
    age = rng.integers(25, 85, n)
    sex = rng.choice(["female", "male"], n)
    smoker = rng.choice(["no", "yes"], n, p=[0.7, 0.3])
    clinic = rng.choice(["East", "North", "South", "West"], n)
    bmi = np.round(26 + 4 * rng.normal(size=n), 1)
    pressure = np.round(110 + 0.4 * age + 10 * rng.normal(size=n))
    glucose = np.round(90 + 0.8 * bmi + 12 * rng.normal(size=n))
    dose = rng.choice([5.0, 10.0, 20.0, 40.0], n)
    labs = np.round(rng.normal(size=(n, 8)) + 0.5 * rng.normal(size=(n, 1)), 2)
    days = 10 + 0.25 * age - 0.2 * dose + 6 * (smoker == "yes") + 4 * (clinic == "West")
    days = np.round(days + 1.5 * labs[:, 2] + 2.5 * rng.normal(size=n), 1)
    odds = 0.06 * (age - 55) + 1.6 * (smoker == "yes") - 0.05 * dose + 0.12 * (bmi - 26)
    relapse = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")
    gaps = np.isin(np.arange(n), rng.choice(n, 7, replace=False))
    columns = {
        "age": age,
        "sex": sex,
        "smoker": smoker,
        "clinic": clinic,
        "bmi": [None if gap else value for gap, value in zip(gaps, bmi.tolist(), strict=True)],
        "pressure": pressure.astype(int),
        "glucose": glucose.astype(int),
        "dose": dose,
        **{f"lab_{j + 1}": labs[:, j] for j in range(8)},
        "days": days,
        "relapse": relapse,
    }
    return pl.DataFrame(columns)


if __name__ == "__main__":
    patients().write_csv(Path(__file__).with_suffix(".csv"))
