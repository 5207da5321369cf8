"""Whether to fit from moments or from products with the rows: one rule for every entry point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sklearn.utils import check_array

from fairspan.fitting import check_size
from fairspan.ground.parameters import check_choice, check_components, generator_from
from fairspan.ground.rows import (
    check_real,
    check_two_dimensions,
    feature_names_of,
    is_dask,
    is_wide,
)
from fairspan.ground.types import FLOATS
from fairspan.moments.from_rows import hidden_by, warn_of_hidden_features
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups, check_sizes
from fairspan.moments.sparse import SPARSE_FORMATS
from fairspan.products import RowParts, SecondMoments, moments_of_parts, second_moments
from fairspan.products.grid import SharedBasis
from fairspan.products.parts import PartRows
from fairspan.products.route import (
    ROUTES,
    check_room,
    fits_as_moments,
    is_cheaper,
)

Checked = tuple[Any, Sequence[str] | None]
"""Rows that were checked, and the names of their features."""


class Wide(NamedTuple):
    """Rows in memory to fit by products, their groups, and the names of their features."""

    X: Any
    groups: Groups
    names: Sequence[str] | None


@dataclass(frozen=True)
class Asked:
    """What is asked of data, as far as it decides which way it goes.

    Attributes
    ----------
    route : {"auto", "moments", "products"}
        The way that was chosen.
    needs_moments : str
        What only moments can answer, see :func:`only_moments`; empty if nothing is.
    n_components : int
        Number of components.
    missing_groups : {"raise", "own_group", "total_only"}
        What to do with rows without a label.
    standardize : bool
        Whether features are divided by their standard deviation.
    """

    route: str
    needs_moments: str
    n_components: int
    missing_groups: str = "raise"
    standardize: bool = False

    def operator(
        self,
        X: Any,
        sensitive_features: Any,
        sample_weight: Any = None,
        check: Callable[[Any], Checked] | None = None,
    ) -> SecondMoments | None:
        """Give the operator of rows to fit by products, or None for others.

        Parameters
        ----------
        X : array-like, sparse, Dask collection, RowParts or GroupMoments
            The data.
        sensitive_features, sample_weight : array-like or None
            The group of each row, and how often it counts.
        check : callable, optional
            Checks rows in memory, or those of a Dask collection without computing them.

        Returns
        -------
        SecondMoments or None
            The operator.
        """
        check_choice("route", self.route, ROUTES)
        if isinstance(X, RowParts):
            return self._of_parts(X, sensitive_features, sample_weight)
        if is_dask(X):
            if self.route != "products" and (
                self.route == "moments"
                or self.needs_moments
                or not is_wide(X)
                or fits_as_moments(X.shape[1])
            ):
                return None
            self._refuse(X)
            rows, names = (check or checked)(X)
            return self._of_collection(rows, names, sensitive_features, sample_weight)
        found = self.rows(X, sensitive_features, check)
        if found is None:
            return None
        return second_moments(
            found.X,
            found.groups,
            sample_weight=sample_weight,
            feature_names=found.names,
            standardize=self.standardize,
        )

    def rows(
        self, X: Any, sensitive_features: Any, check: Callable[[Any], Checked] | None = None
    ) -> Wide | None:
        """Give rows in memory to fit by products, or None for others.

        Parameters
        ----------
        X : array-like or sparse
            The data.
        sensitive_features : array-like or None
            The group of each row.
        check : callable, optional
            Checks the rows.

        Returns
        -------
        Wide or None
            The rows.
        """
        is_told = self.route == "products"
        if is_told:
            self._refuse(X)
        elif self.route == "moments" or self.needs_moments or not is_wide(X):
            return None
        rows, names = (check or checked)(X)
        groups = Groups.of(sensitive_features, rows.shape[0], self.missing_groups)
        n_groups = len(groups.labels)
        check_sizes(n_groups, rows.shape[0])
        if not is_told and not is_cheaper(rows, n_groups):
            return None
        check_room(rows.shape[1], n_groups, int(self.n_components))
        return Wide(rows, groups, names)

    def _refuse(self, X: Any) -> None:
        if self.needs_moments:
            raise ValueError(
                f"route='products' is not possible with {self.needs_moments}; use 'moments'."
            )
        if isinstance(X, GroupMoments):
            raise ValueError(
                "route='products' goes over the rows many times, but moments were given; pass the "
                "rows, or use route='auto'."
            )

    def _of_parts(
        self, source: RowParts, sensitive_features: Any, sample_weight: Any
    ) -> SecondMoments:
        """Open rows that are read again in each pass."""
        if sensitive_features is not None or sample_weight is not None:
            raise ValueError(
                "Rows from files or Spark have their groups and weights with them; give "
                "sensitive=... and weight=... where they are opened, not here."
            )
        why = "route='moments'" if self.route == "moments" else self.needs_moments
        if why:
            raise ValueError(
                "Rows that are read part by part are fitted by products, which is not possible "
                f"with {why}; use moments, for instance of fairspan.sources.moments_from_files."
            )
        k, width = int(self.n_components), PartRows.width
        # How many groups there are is known after a pass over the rows.
        check_room(source.n_features, 1, k, width)
        operator = moments_of_parts(
            source, missing_groups=self.missing_groups, standardize=self.standardize
        )
        check_room(source.n_features, operator.n_groups, k, width)
        return operator

    def _of_collection(
        self, X: Any, names: Sequence[str] | None, sensitive_features: Any, sample_weight: Any
    ) -> SecondMoments:
        """Open a Dask collection, which is computed in each pass."""
        from fairspan.tables.dask import parts_of_collection

        source = parts_of_collection(X, sensitive_features, sample_weight)
        return self._of_parts(replace(source, feature_names=names), None, None)


def only_moments(
    *,
    small_groups: str = "keep",
    radius: Any = 0.0,
    reference: Any = "none",
    clip: Any = None,
    order: str = "variance",
    solver: str = "auto",
) -> str:
    """Say what in the settings only moments can answer; empty if nothing is."""
    if small_groups != "keep":
        return f"small_groups={small_groups!r}"
    if isinstance(radius, str):
        return f"radius={radius!r}"
    if isinstance(reference, str) and reference != "none":
        return f"reference={reference!r}"
    if clip is not None:
        return f"clip={clip!r}"
    if order != "variance":
        return f"order={order!r}"
    return f"solver={solver!r}" if solver != "auto" else ""


def checked(X: Any) -> Checked:
    """Check rows in memory, or those of a Dask collection without computing any."""
    if is_dask(X):
        check_two_dimensions(X)
        check_real(X._meta)
        columns = list(getattr(X, "columns", ()))
        named = bool(columns) and all(isinstance(name, str) for name in columns)
        return X, columns if named else None
    check_real(X)
    names = feature_names_of(X)
    options = {"accept_sparse": SPARSE_FORMATS, "ensure_all_finite": False}
    return check_array(X, dtype=FLOATS, input_name="X", **options), names


def shared_basis(
    operator: SecondMoments,
    n_components: int,
    n_proofs: int,
    *,
    tol: float,
    failure_probability: float,
    random_state: Any = None,
    warn: bool = True,
) -> SharedBasis:
    """Begin the fits of several objectives to the same rows.

    Parameters
    ----------
    operator : SecondMoments
        The rows.
    n_components, n_proofs : int
        Number of components, and the most objectives.
    tol, failure_probability : float
        The relative gap to reach, and how probably any of the bounds may be wrong.
    random_state : int, RandomState instance, Generator or None
        Seed of the random blocks; None is a fixed one.
    warn : bool
        Whether to warn of features that rounding hides.

    Returns
    -------
    SharedBasis
        The basis, which is empty yet.
    """
    check_size(operator)
    hidden = hidden_by(operator, float(operator.shares @ operator.trace_error))
    if warn:
        warn_of_hidden_features(operator, hidden)
    return SharedBasis(
        operator,
        check_components(n_components, operator.n_features),
        n_proofs,
        tol,
        failure_probability,
        generator_from(0 if random_state is None else random_state),
        has_hidden_features=bool(hidden.any()),
    )
