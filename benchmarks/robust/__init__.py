"""Recovery of features and outliers under gross errors, against other robust regressors.

n = 200 rows, m = 500 standard normal columns, 5 of them used with coefficients of size 1 to 2,
noise of standard deviation 0.5. Gross errors in 20 or 40% of the rows are of two kinds: "shifted",
moved by 10 to 50 either way, and "other model", where the rows follow 5 other columns with
coefficients of size 5 to 10. Ours are sparse and see all columns. scikit-learn's are not sparse:
their 5 largest standardized coefficients are taken. RANSAC and Theil-Sen need more rows than
columns and get the 20 columns of largest rank correlation with y (Huber gets 60 of them, besides
its run on all columns): how often these hold the planted 5 is a column of the table. Sparse least
trimmed squares is our own short code (`trimmed`). What is proved, and how fast: `proofs`.
"""
