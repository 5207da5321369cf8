"""Proofs of global optimality, apart from the solvers: they judge any subspace."""
