"""scikit-learn estimators, one class per file."""
