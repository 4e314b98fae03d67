"""The bound at the root, as a gap in percent of the objective: what moving curvature gains.

plain: the relaxation. even: D = lambda_min(Q) I. ours: solve(exact=False). SDP: the best diagonal,
as the semidefinite program of Dong, Chen and Linderoth solved by SCS, for at most 100 columns.
"""
