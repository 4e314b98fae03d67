"""python -m benchmarks.models"""

from benchmarks.models.table import Models

main = Models().main

if __name__ == "__main__":
    main()
