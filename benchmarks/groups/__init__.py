"""Models of whole groups, ours against abess: the same objective, evaluated by us for both.

Every support that abess names is refitted by us, untimed; ours is timed in full, certificate
included: as users call it, where a bounded search follows if the gap is wide, and without a search.
"""
