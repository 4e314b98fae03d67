"""Benchmarks against other software, each to the same accuracy, one thread everywhere.

`python -m benchmarks` lists them; `python -m benchmarks.relaxation` and so on run one;
`python -m benchmarks.compare` compares our times before and after a change. Importing this package
sets one thread for every BLAS and for Numba, so it must come before the first import of NumPy, as
`python -m` sees to.
"""

import os

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON", "VECLIB"):
    os.environ[f"{_name}_NUM_THREADS" if _name != "VECLIB" else "VECLIB_MAXIMUM_THREADS"] = "1"
