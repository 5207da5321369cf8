"""Any number of groups: a Newton method for the minimax problem, with proof."""
