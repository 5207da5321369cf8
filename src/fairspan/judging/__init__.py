"""Evaluating any projection: metrics, certificates, comparisons, leakage."""
