"""Data as group moments: labels to codes, rows to sums, sums that can be added and saved."""

from fairspan.moments.group_moments import GroupMoments

__all__ = ["GroupMoments"]
