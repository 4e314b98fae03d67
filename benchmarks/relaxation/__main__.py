"""python -m benchmarks.relaxation"""

from benchmarks.relaxation.table import Relaxations

main = Relaxations().main

if __name__ == "__main__":
    main()
