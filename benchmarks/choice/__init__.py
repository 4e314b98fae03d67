"""Cross-validation with five folds, ours against scikit-learn's l1 paths on real tables.

Ours chooses k and one of three ridges, searches and certifies the model; theirs chooses a penalty.
"alike" is ours with one ridge and without the search: one number chosen, as theirs. All
standardize, and have the same shuffled folds. Times are of processor, one thread, the best of
three runs; memory is what a run holds at most, beyond what there was. With --jobs also the
wall-clock time of one job over that of two, which says something on a machine that does nothing
else.
"""
