"""Two classifiers, and which differences are certain."""

import kernelcal as kc

files = ["examples/digits_naive_bayes.csv", "examples/digits_logistic.csv"]

ax = kc.compare(files).plot()
