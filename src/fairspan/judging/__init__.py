"""Judges of any projection, whoever found it: metrics, certificates, comparisons, leakage."""
