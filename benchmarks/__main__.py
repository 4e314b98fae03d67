"""python -m benchmarks: what there is to run, against whom, and about what it costs.

Nothing is run here. The minutes are estimates for a complete run on 2 cores of an AMD EPYC (gpu: on
an H200). Each has --help. Options run a part: --quick, --only NAME, --limit, --seeds, or a size.
Our times alone, to compare before and after a change: --ours --json FILE (scale: --json FILE).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

LIST = """
relaxation              The relaxation, to a proved gap of 1e-8, on 16 problems.
                        Peers: skglm, El0ps, L0BnB, CVXPY and Clarabel, Liu-Shafiee-Lodi (our code).
                        About 40 minutes; results/relaxation.

relaxation.experiments  The relaxation on points of the paper's experiments.
                        Peers: CVXPY and Clarabel, as written and at its best.
                        About 5 minutes; saves nothing.

relaxation.check        Whether every peer solves our relaxation, on small data; no times.
                        Peers: as for relaxation.
                        About 3 minutes; saves nothing.

bounds                  Gaps at the root, and what moving curvature into the ridge gains.
                        Peers: the semidefinite program, by SCS.
                        About 20 minutes; results/bounds.

models                  Models with k features: objective, gap and time on 96 problems.
                        Peers: abess, fastsparse, OKRidge, celer, matching pursuit.
                        About 15 minutes; results/models.

groups                  Models of whole groups: objective, gap and time on 46 problems.
                        Peers: abess.
                        About 5 minutes; results/groups.

exact                   Proved optima within 60 s, on 61 programs.
                        Peers: El0ps, L0BnB, OKRidge, SCIP.
                        About 60 minutes; results/exact.

exact.outlook           Whether a search takes seconds, minutes or hours, told from its start.
                        Peers: none.
                        About 20 minutes; results/exact.outlook.

paths                   Certified paths of 50 sizes, against cold solves and other paths.
                        Peers: abess, skglm.
                        About 3 minutes; results/paths.

choice                  Cross-validation with five folds, on real tables: time and memory.
                        Peers: LassoCV and LogisticRegressionCV of scikit-learn.
                        About 4 minutes; results/choice.

prediction              Rows held out of 15 real tables, by what each method does by default.
                        Peers: LassoCV, LogisticRegressionCV, RidgeCV, abess.
                        About 10 minutes; results/prediction.

robust                  How often planted features and outliers are found under gross errors.
                        Peers: Huber, RANSAC and Theil-Sen of scikit-learn, sparse LTS (our code).
                        About 12 minutes; results/robust.

robust.proofs           The truncated loss: gaps of the envelope, over rows, after a search.
                        Peers: none.
                        About 7 minutes; results/robust.proofs.

scale                   Time as m grows to a million, and the memory of a relaxation.
                        Peers: none.
                        About 3 minutes; results/scaling.

scale.sparse            Sparse data, 20,000 x 100,000; with --large 100,000 x 1,000,000.
                        Peers: skglm.
                        About 8 minutes, 40 with --large; with --save results/sparse.

scale.gpu               10,000 x 1,000,000 numbers (40 GB) on one CUDA device.
                        Peers: none.
                        About 3 minutes; with --save results/gpu.

scale.out_of_core       A file of 8 GiB with 1 GiB of memory.
                        Peers: none.
                        About 4 minutes; with --save results/out-of-core-npy (or -zarr).

scale.cluster           A Dask array of 64 GiB, by two threads or two processes.
                        Peers: none.
                        About 4 minutes; with --save results/cluster-rows (or -columns).

scale.tall              1,000,000 x 50 and 300,000 x 200: time next to the Gram product, memory.
                        Peers: none.
                        About 3 minutes; with --save results/tall (or -logistic).

scale.threads           All threads of the machine against one, on what people run.
                        Peers: none.
                        About 5 minutes; with --save results/threads-CORES.

scale.tables            Reading a table of ten million cells.
                        Peers: polars.
                        About 1 minute; saves nothing.

alternate               Two versions of the code in turn, row by row: what became slower.
                        Peers: none.
                        About 10 minutes per round of models; saves nothing.

compare                 Two files of --json, row by row: what became slower.
                        Peers: none.
                        No time; saves nothing.
"""
"""Every module that `python -m benchmarks.NAME` runs."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the list."""
    argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__).parse_args(arguments)
    print(f"{__doc__}{LIST}", end="")


if __name__ == "__main__":
    main()
