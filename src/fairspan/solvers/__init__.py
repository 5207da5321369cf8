"""Solvers: each takes a problem and an objective and returns a point with evidence."""
