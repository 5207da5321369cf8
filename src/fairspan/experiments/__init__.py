"""The paper's experiments, each by one command: rows first, then tables and figures from rows."""
