"""What everything stands on: types, checks, numbers as text, colours, files written whole."""
