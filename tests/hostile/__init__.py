"""Hostile testing: random attacks on the package, and a referee that shares no code with it.

    python -m tests.hostile [--minutes M] [--seed S] [--attack NAME ...] [--case SEED:I] [--list]

Run it from the root of the repository. Every case is a function of the seed and its number, so a
finding is repeated alone by the command that is printed with it. The exit code is 1 if anything
was found. The suite runs a slice of it (`test_slice.py`).
"""
