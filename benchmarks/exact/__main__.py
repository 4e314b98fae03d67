"""python -m benchmarks.exact"""

from benchmarks.exact.table import Optima

main = Optima().main

if __name__ == "__main__":
    main()
