"""FairPCA's problem, the least largest loss: exact, and by multiplicative weights."""
