"""The paper's experiments, one command each: rows first, then tables and figures."""
