"""Cross-validation with five folds, ours against scikit-learn's l1 paths on real tables.

Ours chooses k and certifies the model; theirs chooses a penalty. Both standardize. Times are of
processor, one thread, the better of two runs. With --jobs also the wall-clock time of two processes
that have been started, over that of one.
"""
