"""Other software, one file each: how its units relate to ours, how to run it, when to skip it.

A class is a peer in one kind of work: the relaxation, a model, a proved optimum or a path. What it
does in `solve` or `run` is what is timed, from arrays to its answer. Whatever compiles is compiled
before. Every answer is evaluated by us, untimed.
"""
