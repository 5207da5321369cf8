"""Every sentence about errors, gap, price, proof and doubt."""
