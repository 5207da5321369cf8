"""``fairspan certify``: prove again how far a model is from the best one, at most."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np

from fairspan import words
from fairspan.cli import NOT_PROVED, OK, UsageError, console, summary
from fairspan.cli.arguments import (
    add_comparison_arguments,
    add_json_argument,
    add_number,
    reference_of,
)
from fairspan.ground import defaults
from fairspan.judging.certify import CertifiedResult, certify
from fairspan.moments import file as moments_file
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.small_groups import GroupRule, treated
from fairspan.storage.model_file import read_model

USAGE = "fairspan certify MODEL [--moments SITE.npz] [options]"
EXAMPLES = """\
examples:
  fairspan certify model.npz
  fairspan certify model.npz --moments site.npz --tolerance 0.01

The model's own subspace is judged; nothing it claims about itself is used. With --moments it is
judged on other data: how much better could a projection made for these data be, at most?
The exit code is 3 if the gap is larger than the tolerance."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="what fairspan fit saved")
    parser.add_argument("--moments", metavar="SITE.npz", help="moments of other data")
    parser.add_argument("--fairness-weight", type=float, metavar="W", help="default: the model's")
    parser.add_argument("--radius", type=float, metavar="R", help="default: the model's")
    add_comparison_arguments(parser)
    add_number(parser, "--tolerance", default=defaults.TOL, metavar="T")
    add_number(parser, "--effort", default=defaults.EFFORT, help="multiplies the work of the proof")
    text = "seconds after which the proof is given up (default: no limit)"
    parser.add_argument("--max-time", type=float, metavar="S", help=text)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Solve the problem of the data again and compare."""
    file = read_model(options.model)
    model: Any = file.model
    moments = _moments(model, options)
    scales = (file.columns or {}).get("scales")
    if scales is not None and options.moments is not None:
        moments = moments.scaled(np.array(scales))
    moments = GroupRule.of(model).moments(moments)
    if model.small_groups != "keep":
        moments = treated(moments, model.small_groups, model.min_rows)
    scaled = moments if model.scale_ is None else moments.scaled(model.scale_)
    setting = {name: _setting(model, options, name) for name in ("fairness_weight", "radius")}
    # What a model was asked to count is what it is judged by.
    rules = ("group_weights", "missing_groups", "small_groups", "min_rows")
    names = (*rules, "disparity", "reference")
    counting = {name: getattr(model, name) for name in names if hasattr(model, name)}
    if options.disparity is not None:
        counting["disparity"] = options.disparity
    if options.reference is not None:
        counting["reference"] = reference_of(options, moments.labels)
    result = certify(
        model.components_,
        scaled,
        **setting,
        **counting,
        tol=options.tolerance,
        effort=options.effort,
        max_time=options.max_time,
    )
    weight, radius = setting.values()
    by_group = isinstance(radius, Mapping)
    beyond = None
    if result.references is not None:
        own = counting["reference"] == "own"
        beyond = words.References(result.references.tolist(), own)
    document = {
        "model": options.model,
        "moments": options.moments,
        "fairness_weight": weight,
        "radius": None if by_group else radius,
        "disparity": counting.get("disparity", "gap"),
        "reference": counting.get("reference", "none"),
        **summary.evidence(result),
        "tolerance": options.tolerance,
        "groups": [
            {
                "label": label,
                "rows": int(moments.counts[a]),
                "error": result.group_errors[a],
            }
            | ({"radius": radius[label]} if by_group else {})
            | ({} if beyond is None else summary.against(beyond.values[a], result.group_errors[a]))
            for a, label in enumerate(moments.labels)
        ],
        "dominating": summary.dominating(result.dominating),
    }
    text = _text(moments, result, setting, document["disparity"], beyond, options)
    console.answer(options.json, text, document)
    return OK if result.status == "optimal" else NOT_PROVED


def _moments(model: Any, options: argparse.Namespace) -> GroupMoments:
    if options.moments is None:
        if getattr(model, "route_", "moments") == "products":
            raise UsageError(
                f"{options.model!r} was fitted by products with the rows, so it has no moments; in "
                "Python, fairspan.certify(model.components_, X, sensitive_features=...) judges it "
                "by its rows."
            )
        if not hasattr(model, "moments_"):
            raise UsageError(
                f"{options.model!r} was saved without moments; give those of the data with "
                "--moments SITE.npz."
            )
        own: GroupMoments = model.moments_
        return own
    moments, _ = moments_file.load(options.moments)
    mine = getattr(model, "feature_names_in_", None)
    theirs = moments.feature_names
    same = mine is None or theirs is None or list(mine) == list(theirs)
    if moments.n_features != model.n_features_in_ or not same:
        raise ValueError(
            f"{options.moments!r} has other features than the model: {moments.n_features}, "
            f"{list(theirs or [])[:5]}, where the model has {model.n_features_in_}, "
            f"{[] if mine is None else list(mine[:5])}."
        )
    return moments


def _setting(model: Any, options: argparse.Namespace, name: str) -> Any:
    given = getattr(options, name)
    if given is None and not hasattr(model, name):
        raise UsageError(
            f"{type(model).__name__} has no {name} of its own; choose the one to judge it by with "
            f"--{name.replace('_', '-')}."
        )
    if given is not None:
        return given
    value = getattr(model, name)
    # Radii that were found by resampling cannot be found again without the rows.
    if name == "radius" and isinstance(value, str):
        return dict(zip(model.group_labels_, model.group_radii_.tolist(), strict=True))
    return value


def _text(
    moments: GroupMoments,
    result: CertifiedResult,
    setting: Any,
    disparity: str,
    beyond: words.References | None,
    options: argparse.Namespace,
) -> str:
    data = "the data it was fitted on" if options.moments is None else options.moments
    header, columns = ["mean squared error", "rows", "error"], [result.group_errors.tolist()]
    if beyond is not None:
        header += [beyond.heading, f"above {beyond.heading}"]
        columns += [beyond.values, beyond.above(columns[0])]
    unit = float(result.group_errors.max())
    rows = [
        [words.group_name(label), f"{moments.counts[a]:,}"]
        + [words.number(column[a], unit) for column in columns]
        for a, label in enumerate(moments.labels)
    ]
    proof = words.proof(
        result.status, result.optimality_gap, result.is_hidden, result.failure_probability
    )
    verdict, colon, rest = console.sentences(proof).partition(":")
    verdict = console.paint(verdict, "green" if result.status == "optimal" else "yellow")
    weight, radius = setting.values()
    how = "radii by group" if isinstance(radius, Mapping) else f"radius {radius}"
    compared = "" if disparity == "gap" else f", disparity {disparity}"
    if beyond is not None:
        compared += f", {words.TEMPLATES['compared above'].format(reference=beyond.name)}"
    return "\n".join(
        [
            f"{options.model} judged on {data}, fairness weight {weight}, {how}{compared}",
            "",
            console.table(header, rows),
            "",
            f"objective    {result.objective!r}",
            f"lower bound  {result.lower_bound!r}",
            f"{verdict}{colon}{rest}",
            console.sentences(*_better(result, disparity)),
        ]
    )


def _better(result: CertifiedResult, disparity: str) -> list[str]:
    """Say whether another projection serves every group better, and what to fit then."""
    finding = result.dominating.finding
    # Only of an optimum it is the gap that makes groups worse.
    levelled = finding.matters and disparity == "gap" and result.status == "optimal"
    return [finding.sentence, *[words.TEMPLATES["instead"]] * levelled]
