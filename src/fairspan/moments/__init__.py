"""Data as group moments: labels become codes, rows become sums that can be added and saved."""

from fairspan.moments.group_moments import GroupMoments

__all__ = ["GroupMoments"]
