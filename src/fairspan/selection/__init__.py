"""Cross-validation on moments: folds, a grid that shares its eigen-solves, and scores."""
