"""Cross-validation on moments is a loop of fits, only faster."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold

from fairspan import GroupMoments, NoGroupsWarning, RobustFairPCA, RobustFairPCACV, load_model
from tests.conftest import needs_paper_data, paper_table
from tests.protocol import COMPONENTS, SEEDS, select, split

GRID = {"fairness_weights": (0, 0.5, 2), "radii": (0.0, 0.5)}


def made_table(n_groups=2, n_rows=240, d=6, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_groups, n_rows)
    X = rng.standard_normal((n_rows, d)) @ rng.standard_normal((d, d)) + 10
    for g in range(n_groups):
        X[groups == g] *= rng.uniform(0.5, 2, d) if n_groups == 2 else rng.uniform(0.9, 1.2, d)
    return X, np.array(["a", "b", "c", "d"])[groups]


def loop_scores(X, groups, splits, candidates, weight=None, **options):
    """Scores of separate fits, (n_splits, n_candidates)."""
    weight = np.ones(len(X)) if weight is None else weight
    scores = []
    for train, test in splits:
        scores.append([])
        for params in candidates:
            model = RobustFairPCA(**params, **options)
            model.fit(X[train], sensitive_features=groups[train], sample_weight=weight[train])
            given = {"sensitive_features": groups[test], "sample_weight": weight[test]}
            scores[-1].append(model.score(X[test], **given))
    return np.array(scores)


def split_scores(search, name="score"):
    return np.array([search.cv_results_[f"split{i}_test_{name}"] for i in range(search.n_splits_)])


SPLITTERS = {
    "folds": 3,
    "stratified": StratifiedKFold(4, shuffle=True, random_state=1),
    "overlapping": ShuffleSplit(3, test_size=0.4, random_state=0),
    "leaving rows out": [(np.arange(0, 90), np.arange(100, 170)), (np.arange(50, 200), np.r_[:50])],
}


@pytest.mark.parametrize(
    ("splitter", "n_groups", "n_components", "standardize"),
    [
        *((name, 2, [1, 3], flag) for name in SPLITTERS for flag in (False, True)),
        ("folds", 1, [2, 6], True),
        ("folds", 3, 1, False),
    ],
)
@pytest.mark.filterwarnings("ignore::fairspan.NoGroupsWarning")
def test_scores_are_those_of_a_loop_of_fits(splitter, n_groups, n_components, standardize):
    X, groups = made_table(n_groups)
    cv = SPLITTERS[splitter]
    search = RobustFairPCACV(n_components, **GRID, cv=cv, standardize=standardize)
    search.fit(X, sensitive_features=groups)
    made = KFold(3) if cv == 3 else cv
    splits = made if isinstance(made, list) else list(made.split(X, groups))
    candidates = search.cv_results_["params"]
    expected = loop_scores(X, groups, splits, candidates, standardize=standardize)
    accuracy = 1e-6 if n_groups > 2 else 1e-9
    assert split_scores(search) == pytest.approx(expected, rel=accuracy, abs=accuracy)
    mean = expected.mean(axis=0)
    assert search.best_index_ == int(np.argmax(mean >= mean.max() - accuracy))
    best = RobustFairPCA(**search.best_params_, standardize=standardize)
    best.fit(X, sensitive_features=groups)
    assert search.components_ == pytest.approx(best.components_, abs=1e-5)
    assert search.transform(X) == pytest.approx(best.transform(X), abs=1e-4)


def test_weights_count_in_fits_and_in_scores():
    X, groups = made_table()
    weight = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    search = RobustFairPCACV(2, **GRID, group_weights="equal")
    search.fit(X, sensitive_features=groups, sample_weight=weight)
    candidates = search.cv_results_["params"]
    splits = list(KFold(3).split(X))
    expected = loop_scores(X, groups, splits, candidates, weight, group_weights="equal")
    assert split_scores(search) == pytest.approx(expected, rel=1e-9)


def test_rows_without_a_label_count_in_the_total_only():
    X, groups = made_table(3)
    groups = np.where(groups == "c", None, groups.astype(object))
    search = RobustFairPCACV(1, **GRID, missing_groups="total_only")
    search.fit(X, sensitive_features=groups)
    candidates = search.cv_results_["params"]
    splits = list(KFold(3).split(X))
    expected = loop_scores(X, groups, splits, candidates, missing_groups="total_only")
    assert split_scores(search) == pytest.approx(expected, rel=1e-6)


def test_fold_moments_give_what_rows_give():
    X, groups = made_table()
    parts = [
        GroupMoments.from_arrays(X[rows], groups[rows]) for rows in np.array_split(range(len(X)), 3)
    ]
    from_rows = RobustFairPCACV(2, **GRID).fit(X, sensitive_features=groups)
    from_moments = RobustFairPCACV(2, **GRID).fit_moments(parts)
    assert split_scores(from_moments) == pytest.approx(split_scores(from_rows), rel=1e-9)
    assert from_moments.best_params_ == from_rows.best_params_
    assert from_moments.components_ == pytest.approx(from_rows.components_, abs=1e-9)
    assert from_moments.n_features_in_ == X.shape[1]


def test_a_large_offset_of_the_features_loses_no_digits():
    X, groups = made_table()
    near = RobustFairPCACV(2, **GRID).fit(X - 10, sensitive_features=groups)
    far = RobustFairPCACV(2, **GRID).fit((X - 10) + 2.0**24, sensitive_features=groups)
    assert split_scores(far) == pytest.approx(split_scores(near), rel=1e-6)


def test_budgets_choose_among_those_that_keep_to_them():
    X, groups = made_table()
    plain = RobustFairPCACV(2, **GRID).fit(X, sensitive_features=groups)
    total = plain.cv_results_["mean_test_total_error"]
    gap = plain.cv_results_["mean_test_error_gap"]
    assert split_scores(plain) == pytest.approx(
        -split_scores(plain, "total_error") - split_scores(plain, "error_gap")
    )
    budget = float(np.median(total))
    search = RobustFairPCACV(2, **GRID, scoring="gap_within_budget", total_budget=budget)
    search.fit(X, sensitive_features=groups)
    within = np.flatnonzero(total <= budget)
    assert search.best_index_ == within[np.argmin(gap[within])]
    assert search.best_score_ == pytest.approx(-gap[search.best_index_])
    ranks = search.cv_results_["rank_test_score"]
    assert ranks[total > budget].min() > ranks[within].max()
    budget = float(np.median(gap))
    search = RobustFairPCACV(2, **GRID, scoring="total_within_budget", gap_budget=budget)
    search.fit(X, sensitive_features=groups)
    within = np.flatnonzero(gap <= budget)
    assert search.best_index_ == within[np.argmin(total[within])]


def test_a_function_of_the_group_errors_scores():
    X, groups = made_table()
    worst = RobustFairPCACV(2, **GRID, scoring=lambda errors: -max(errors.by_group.values()))
    worst.fit(X, sensitive_features=groups)
    splits = KFold(3).split(X)
    for fold, (train, test) in enumerate(splits):
        params = worst.best_params_
        model = RobustFairPCA(**params).fit(X[train], sensitive_features=groups[train])
        errors = model.reconstruction_errors(X[test])
        expected = -max(errors[groups[test] == g].mean() for g in "ab")
        assert split_scores(worst)[fold, worst.best_index_] == pytest.approx(expected)


@pytest.mark.parametrize("value", [float("nan"), None, -np.inf, "good"])
def test_a_scoring_that_gives_no_number_is_named(value):
    X, groups = made_table()
    with pytest.raises(ValueError, match=f"scoring returned {value!r}.*a finite number"):
        RobustFairPCACV(2, scoring=lambda _: value).fit(X, sensitive_features=groups)


def test_rows_that_belong_together_are_kept_together_by_given_splits():
    X, groups = made_table()
    people = np.arange(len(X)) // 4
    with pytest.raises(ValueError, match=r"cv=list\(GroupKFold\(...\).split\(X, groups=ids\)\)"):
        RobustFairPCACV(cv=GroupKFold(3)).fit(X, sensitive_features=groups)
    splits = list(GroupKFold(3).split(X, groups=people))
    search = RobustFairPCACV(2, **GRID, cv=splits).fit(X, sensitive_features=groups)
    expected = loop_scores(X, groups, splits, search.cv_results_["params"])
    assert split_scores(search) == pytest.approx(expected, rel=1e-9)


def test_the_winner_can_be_saved(tmp_path):
    X, groups = made_table()
    search = RobustFairPCACV(2, **GRID).fit(X, sensitive_features=groups)
    search.best_estimator_.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").transform(X), search.transform(X))


def test_ranks_and_names_are_in_the_shape_of_scikit_learn():
    X, groups = made_table()
    search = RobustFairPCACV([1, 2], **GRID).fit(X, sensitive_features=groups)
    table = search.cv_results_
    assert len(table["params"]) == 12
    assert list(table["param_fairness_weight"]) == [p["fairness_weight"] for p in table["params"]]
    assert table["mean_test_score"] == pytest.approx(split_scores(search).mean(axis=0))
    assert table["std_test_score"] == pytest.approx(split_scores(search).std(axis=0))
    assert table["rank_test_score"][search.best_index_] == 1
    assert search.best_score_ == table["mean_test_score"].max()
    assert search.get_feature_names_out()[0] == "robustfairpcacv0"
    assert search.score(X, sensitive_features=groups) == pytest.approx(
        search.best_estimator_.score(X, sensitive_features=groups)
    )
    back = search.inverse_transform(search.transform(X))
    assert search.reconstruction_errors(X) == pytest.approx(((X - back) ** 2).sum(axis=1))


def test_without_refit_there_is_a_choice_but_no_projection():
    X, groups = made_table()
    search = RobustFairPCACV(2, **GRID, refit=False).fit(X, sensitive_features=groups)
    assert search.best_params_["n_components"] == 2
    with pytest.raises(AttributeError, match="refit=False"):
        search.transform(X)
    search.set_params(refit=True).fit(X, sensitive_features=groups).transform(X)
    search.set_params(refit=False).fit(X, sensitive_features=groups)
    assert not hasattr(search, "components_")
    with pytest.raises(AttributeError, match="refit=False"):
        search.transform(X)
    with pytest.raises(NotFittedError):
        clone(search).transform(X)


def test_forgotten_groups_are_warned_of():
    X, _ = made_table()
    with pytest.warns(NoGroupsWarning, match="sensitive_features"):
        RobustFairPCACV(2, **GRID).fit(X)


BAD = [
    ({"cv": 1}, "cv=1"),
    ({"scoring": "gap"}, "scoring='gap'"),
    ({"scoring": "gap_within_budget"}, "total_budget"),
    ({"total_budget": 1e-9}, "least mean total error"),
    ({"radii": ("bootstrap",)}, "radii"),
    ({"radii": ()}, "radii is empty"),
    ({"fairness_weights": (-1,)}, "fairness_weight=-1"),
    ({"rescale_folds": True, "standardize": True}, "rescale_folds"),
    ({"gap_centering": "local"}, "gap_centering='local'"),
    ({"n_components": 9}, "n_features=6"),
    ({"cv": [(np.array([0, 0, 1]), np.arange(3, 9))]}, "more than once"),
]


@pytest.mark.parametrize(("given", "message"), BAD, ids=[text for _, text in BAD])
def test_bad_parameters_are_named(given, message):
    X, groups = made_table()
    with pytest.raises(ValueError, match=message):
        RobustFairPCACV(**given).fit(X, sensitive_features=groups)


def test_a_fold_without_a_group_is_refused_and_told_how_to_mend():
    X, groups = made_table()
    with pytest.raises(ValueError, match="StratifiedKFold"):
        RobustFairPCACV().fit(X, sensitive_features=np.where(np.arange(len(X)) < 40, "a", "b"))
    rows = np.argsort(groups, kind="stable")
    search = RobustFairPCACV(**GRID, cv=StratifiedKFold(3))
    search.fit(X[rows], sensitive_features=groups[rows])
    with pytest.raises(ValueError, match="at least 2 GroupMoments"):
        RobustFairPCACV().fit_moments(GroupMoments.from_arrays(X, groups))


@needs_paper_data
def test_the_papers_grid_takes_few_eigen_solves_and_equals_the_loop():
    X, groups, _ = paper_table("default_credit")
    search = RobustFairPCACV(3, standardize=True, random_state=0)
    search.fit(X, sensitive_features=groups)
    assert search.n_eigensolves_ <= 40
    splits = KFold(3, shuffle=True, random_state=0).split(X)
    candidates = search.cv_results_["params"]
    expected = loop_scores(X, groups, splits, candidates, standardize=True)
    assert split_scores(search) == pytest.approx(expected, abs=1e-9)
    assert search.best_index_ == int(expected.mean(axis=0).argmax())


@needs_paper_data
@pytest.mark.parametrize("name", ["e_coli", "wine_quality", "energy"])
def test_the_papers_selection_comes_out(name):
    X, groups, _ = paper_table(name)
    for seed in SEEDS:
        train, _ = split(X, groups, seed)
        published = {"radii": (0.05, 0.1, 0.15), "gap_centering": "group", "rescale_folds": True}
        search = RobustFairPCACV(COMPONENTS, random_state=seed, **published)
        search.fit(train.X, sensitive_features=train.groups)

        def fit(params):
            def projector(moments):
                V = RobustFairPCA(**params).fit_moments(moments).components_
                return V.T @ V

            return projector

        fits = [fit(params) for params in search.cv_results_["params"]]
        chosen = fits.index(select(fits, train, seed))
        assert search.best_index_ == chosen, seed


def test_folds_that_are_one_object_count_as_two():
    rng = np.random.default_rng(0)
    one, other = (
        GroupMoments.from_arrays(rng.normal(size=(40, 4)), ["a", "b"] * 20) for _ in range(2)
    )
    same = RobustFairPCACV(2).fit_moments([one, one, other])
    equal = RobustFairPCACV(2).fit_moments([one, replace(one), other])
    assert same.best_params_ == equal.best_params_
    assert same.best_score_ == equal.best_score_


def test_the_order_is_that_of_the_winner_and_greedy_candidates_are_greedy():
    X, groups = made_table()
    splits = list(KFold(3).split(X))
    for order in ("nested", "greedy"):
        search = RobustFairPCACV(3, **GRID, order=order).fit(X, sensitive_features=groups)
        best = RobustFairPCA(**search.best_params_, order=order)
        best.fit(X, sensitive_features=groups)
        assert search.components_ == pytest.approx(best.components_, abs=1e-5)
        candidates = search.cv_results_["params"]
        expected = loop_scores(X, groups, splits, candidates, order=order)
        assert split_scores(search) == pytest.approx(expected, rel=1e-6)
