"""The relaxation: ours to a gap of 1e-8, everybody else to 1e-6.

Peers' tolerances mean different things, so each is tightened until the relaxed value at its w,
computed by us, is within 1e-6 of the best dual value; that setting alone is timed.
"""
