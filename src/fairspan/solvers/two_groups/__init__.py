"""Two groups: the boundary of the attainable errors, walked, followed and traced."""
