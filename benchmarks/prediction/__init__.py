"""Prediction on rows held out, by what each method does unless it is told otherwise.

Four splits of each real table, three quarters of the rows to fit and a quarter to score, with the
proportions of the classes kept. Numbers are scored by R2, classes by the log loss, with accuracy
and AUC beside it. Ours chooses k and the ridge by five folds; every other method chooses its own
penalty, or size, by five folds or as its authors advise. All see standardized columns.

A method is as good as the best where its mean score is within one standard error of the best mean:
the standard deviation of the best method's four scores over 2. Our settings were chosen on splits
of the same tables with the seeds 101 to 105, and frozen before `SEED` was drawn.
"""
