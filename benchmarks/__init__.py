"""Benchmarks against other software, each to the same accuracy, one thread everywhere.

`python -m benchmarks` (or `make bench`) measures the relaxation, `python -m benchmarks.models` the
sparse models, `python -m benchmarks.paths` paths of them, `python -m benchmarks.exact` the search
for proved optima, `python -m benchmarks.scaling` how time and memory grow, `python -m
benchmarks.cluster` a Dask array larger than memory. Importing this package sets one thread for
every BLAS and for Numba, so it must come before the first import of NumPy, as `python -m` sees to.
"""

import os

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON", "VECLIB"):
    os.environ[f"{_name}_NUM_THREADS" if _name != "VECLIB" else "VECLIB_MAXIMUM_THREADS"] = "1"
