"""Foundations: types, checks, defaults, numbers as text, colours, atomic files."""
