"""Any convex, increasing objective of any number of groups, with proof."""
