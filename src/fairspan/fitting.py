"""The one way from moments and settings to a result whose claims are settled."""
