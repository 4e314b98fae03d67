"""Cross-validation with five folds, ours against scikit-learn's l1 paths on real tables.

Ours chooses k and one of three ridges, searches and certifies the model; theirs chooses a penalty.
"alike" is ours with one ridge and without the search: one number chosen, as theirs. All
standardize. Times are of processor, one thread, the better of two runs. With --jobs also the
wall-clock time of one process over that of two that have been started.
"""
