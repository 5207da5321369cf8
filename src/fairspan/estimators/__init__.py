"""scikit-learn estimators, one class a file."""
