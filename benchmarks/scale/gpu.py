"""A million columns on one CUDA device.

10,000 x 1,000,000 float32 numbers (40 GB) are made on the device: groups of 100 columns that share
half of their variance, 20 coefficients of 1 in 20 groups, a signal of 5 times the noise's variance.
Squared and logistic loss, ridge 0.05, k = 20 and l0 = 0.1 l0_max (as in `problems`). The unit of
time is one X^T a in float32 by the device's own BLAS, TF32 off. `relax` goes to a relative gap of
1e-6, with its bound proved in float64; `solve` goes from the tensor to a sparse model and its
certificate, norms and fingerprint included. Kernels are compiled on a small tensor first.

Then 20 smaller problems (6 with groups), on the device and on the host: supports, and both bounds
to 1e-6.

--groups 10 makes groups of 10 columns, which share half of their variance and are chosen together:
5 of them have coefficients of 1, and k = 5. The price l0 is then the multiplier of k. Its table is
for 1000 x 5,000,000 (20 GB), which --rows and --columns ask for.

--device cpu with small --rows and --columns tries the script where there is no such device.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.common import machine
from benchmarks.common.bars import Verdict, under
from benchmarks.common.command import finish, parser_of, say
from benchmarks.common.page import Page, caption_of, three
from benchmarks.common.problems import CURVATURE
from benchmarks.common.timing import WALL, best_run, timed
from benchmarks.scale.device import NONZEROS, PLANTED, Device, correlated, labels, responses
from sparsebounds import Program, __version__, relax, solve

GROUPED = (
    "1000 x 5,000,000 float32 numbers (20 GB) are made on the device: groups of ten columns that "
    "share half of their variance and are chosen together, 5 of them with coefficients of 1, "
    "a signal of 5 times the noise's variance. k = 5, and l0 the multiplier of k. Times as in the "
    "table of single columns."
)
RIDGE, TOL = 0.05, 1e-6
RELAX_BAR, PASSES_BAR, SOLVE_BAR = {"squared": 0.5, "logistic": 2.0}, 20.0, 3.0
TIMES = ("problem", "X^T a", "float64 pass", "Program", "relax", "over X^T a", "passes", "gap")
HEADER = (*TIMES, "working set", "solve", "certified gap", "nonzeros", "planted", "device peak")


def l0_max(program: Program) -> float:
    """The price above which no single column pays for itself."""
    zero = np.zeros(program.n)
    scores = program.matrix.scores(program.F.gradient(zero))
    curvature = CURVATURE[program.loss.name] * program.matrix.norms**2 / program.n + program.ridges
    return float(np.max(scores**2 / (2.0 * curvature)))


def measure(
    device: Device, X: Any, planted: Any, y: np.ndarray, loss: str, form: str, options: Any
) -> dict:
    """One row: times in seconds."""
    group, ridge = options.groups, options.ridge
    sizes: dict[str, Any] = {"k": PLANTED if group else NONZEROS}
    groups = labels(X.shape[1], group)
    if form == "l0" and group:
        counted = Program(X, y, ridge=ridge, loss=loss, groups=groups, **sizes)
        # Where fewer groups than k are worth having, k has no price.
        sizes = {"l0": relax(counted, TOL).l0_multiplier or 0.01 * counted.null}
    elif form == "l0":
        sizes = {"l0": 0.1 * l0_max(Program(X, y, k=1, ridge=ridge, loss=loss))}
    a = device.torch.randn(len(X), device=X.device)
    host = a.double().cpu().numpy()
    device.peak()
    product = device.seconds(lambda: X.T @ a)
    asked: dict[str, Any] = {"ridge": ridge, "loss": loss, "groups": groups, **sizes}
    setup, program = timed(lambda: Program(X, y, **asked), WALL)
    full = device.seconds(lambda: program.matrix.scores(host))
    relax_seconds, relaxed = best_run(lambda: relax(program, TOL), 5, WALL)
    solve_seconds, found = best_run(lambda: solve(X, y, **asked), 3, WALL)
    return {
        "problem": f"{loss}, {form}",
        "product": product,
        "pass": full,
        "program": setup,
        "relax": relax_seconds,
        "passes": relaxed.stats.full_passes,
        "gap": relaxed.gap / max(abs(relaxed.value), abs(program.null)),
        "working_set": relaxed.stats.working_set,
        "newton_steps": relaxed.stats.newton_steps,
        "solve": solve_seconds,
        "solve_passes": found.stats.full_passes,
        "certified_gap": found.rel_gap,
        "nonzeros": len(found.support),
        "planted": int(np.isin(found.support, planted.cpu().numpy()).sum()),
        "peak": device.peak(),
    }


def agreement(device: Device, group: int) -> list[dict]:
    """Twenty smaller problems on both sides."""
    rows = []
    grid = itertools.product(("squared", "logistic", "huber", "poisson"), ("k", "l0"), range(3))
    for number, (loss, form, seed) in enumerate(itertools.islice(grid, 6 if group else 20)):
        X, planted = correlated(device.torch, 200, 3000, device.name, 100 + number, group)
        chosen = planted[: max(5, 2 * group)]
        signal = X[:, chosen].double().sum(dim=1).cpu().numpy() * (5.0 / len(chosen)) ** 0.5
        y = signal + np.random.default_rng(number).normal(size=len(signal))
        if loss == "logistic":
            y = np.where(y > 0, 1.0, -1.0)
        if loss == "poisson":
            y = np.round(np.exp(np.clip(0.3 * y, -5.0, 3.0)))
        if seed == 1:
            X = X.double()
        size = {"ball": 2.0} if seed == 2 else {"ridge": 0.1}
        options: dict[str, Any] = {"loss": loss, "fit_intercept": seed != 0, **size}
        options["groups"] = labels(3000, group)
        options |= {"k": 5} if form == "k" else {"l0": 0.02 * max(group, 1)}
        there, here = solve(X, y, **options), solve(X.cpu().numpy(), y, **options)
        scale = max(abs(here.upper), 1e-3)
        rows.append(
            {
                "problem": f"{loss}, {form}, {'ball' if seed == 2 else 'ridge'}",
                "support": bool(np.array_equal(there.support, here.support)),
                "upper": abs(there.upper - here.upper) / scale,
                "lower": abs(there.lower - here.lower) / scale,
            }
        )
    return rows


def verdicts(rows: list[dict], same: list[dict], group: int) -> list[Verdict]:
    """The bars."""
    found = []
    for row in rows:
        name, loss = row["problem"], row["problem"].split(",")[0]
        bar, ratio = RELAX_BAR[loss], row["relax"] / row["product"]
        found.append(Verdict(name, f"gap {TOL:g}", f"{row['gap']:.1e}", row["gap"] <= TOL))
        told = f"{row['relax']:.3f} s"
        if not group:
            found.append(Verdict(name, f"relax under {bar:g} s", told, row["relax"] < bar))
        if loss == "squared" and not group:
            text = f"under {PASSES_BAR:g} X^T a"
            found.append(Verdict(name, text, three(ratio), ratio < PASSES_BAR))
        found.append(under(name, row["solve"], SOLVE_BAR, "s", what="solve"))
    worst = max(max(row["upper"], row["lower"]) for row in same)
    equal = sum(row["support"] for row in same)
    told = f"{equal} of {len(same)} supports, bounds to {worst:.1e}"
    passed = equal == len(same) and worst <= 1e-6
    return [*found, Verdict(f"{len(same)} smaller problems", "as on the host", told, passed)]


def line(row: dict) -> list[str]:
    """A row of the table."""
    seconds = [f"{1e3 * row[key]:.1f} ms" for key in ("product", "pass", "program", "relax")]
    return [
        row["problem"],
        *seconds,
        three(row["relax"] / row["product"]),
        f"{row['passes']:.2f}",
        f"{row['gap']:.0e}",
        str(row["working_set"]),
        f"{row['solve']:.2f} s",
        f"{100 * row['certified_gap']:.2g}%",
        str(row["nonzeros"]),
        str(row["planted"]),
        row["peak"],
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, save."""
    parser = parser_of("scale.gpu", __doc__, save=True)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=0, help="columns per group; default: none")
    parser.add_argument("--ridge", type=float, default=RIDGE)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args(arguments)
    try:
        import torch
    except ImportError:
        parser.error('this benchmark needs torch: pip install "sparsebounds[gpu]"')
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        parser.error("torch sees no CUDA device; --device cpu tries the script without one.")
    device = Device(torch, options.device)
    group = options.groups
    small, planted = correlated(torch, 300, 5000, device.name, 1, group)
    for loss, y in responses(small, planted, 1).items():
        solve(small, y, k=3, ridge=RIDGE, loss=loss, groups=labels(5000, group))
        solve(small, y, l0=0.01, ridge=RIDGE, loss=loss, groups=labels(5000, group))
    X, planted = correlated(torch, options.rows, options.columns, device.name, 0, group)
    rows = []
    for loss, y in responses(X, planted, 0).items():
        for form in ("k", "l0"):
            rows.append(measure(device, X, planted, y, loss, form, options))
            say(line(rows[-1]))
    del X
    same = agreement(device, group)
    where = machine.describe(("numpy", "scipy", "torch", "triton"))
    where["versions"] = {"sparsebounds": __version__, **where["versions"]}
    if device.cuda:
        where["processor"] = f"{torch.cuda.get_device_name()}; host {where['processor']}"
    size = f"{options.rows:,} x {options.columns:,} float32"
    size += f" in groups of {group}, ridge {options.ridge:g}" * bool(group)
    page = Page(
        title=f"One GPU: {size}",
        caption=GROUPED if group else caption_of(__doc__),
        header=HEADER,
        lines=[line(row) for row in rows],
        verdicts=verdicts(rows, same, group),
        absences=[],
        machine=where,
    )
    parts = ("program", "relax", "solve")
    times = {f"{row['problem']}: {part}": row[part] for row in rows for part in parts}
    name = "gpu.groups" if group else "gpu"
    finish(page, options, name, times, {"machine": where, "rows": rows, "agreement": same})


if __name__ == "__main__":
    main()
