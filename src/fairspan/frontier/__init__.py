"""The whole trade-off between total error and gap, and advice drawn from it."""
