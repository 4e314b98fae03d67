"""Proved optima, ours against other software.

One thread, one setting for all programs, the same objective evaluated by us, the same gap relative
to it, the same time limit. --bars runs the seeds that the bars compare; without it 40 programs more
are counted.
"""
