"""Subspaces that keep groups apart from telling: restricted PCA and convex programs."""
