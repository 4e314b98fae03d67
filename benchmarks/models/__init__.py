"""Sparse models, ours against other software: the same objective, evaluated by us for all.

Every support that a peer names is refitted by us, untimed; ours is timed in full, certificate
included.
"""
