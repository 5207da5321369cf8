"""``fairspan info``: what a model file or a moments file holds."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from fairspan.cli import OK, console, summary
from fairspan.cli.arguments import add_json_argument
from fairspan.cli.moments import groups_table, moments_document
from fairspan.ground.archive import format_of
from fairspan.ground.listed import listed
from fairspan.ground.parameters import is_number
from fairspan.moments import file as moments_file
from fairspan.storage.model_file import ModelFile, read_model
from fairspan.words import number, plural

USAGE = "fairspan info FILE [options]"
EXAMPLES = """\
examples:
  fairspan info model.npz
  fairspan info site.npz --json"""
_SHOWN = 8
"""Features named in the text."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what can be asked."""
    parser.add_argument("file", metavar="FILE", help="what fairspan fit, moments or merge wrote")
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Show what the file contains."""
    size = f"{os.path.getsize(options.file):,} bytes"
    if format_of(options.file) == moments_file.FORM:
        moments, _ = moments_file.load(options.file)
        lines = [summary.data_line(Path(options.file).name, moments), "", groups_table(moments), ""]
        lines += [f"features  {_some(moments.feature_names, moments.n_features)}"]
        document = {"kind": "moments", **moments_document(moments)}
        console.answer(options.json, "\n".join([*lines, f"file      {size}"]), document)
        return OK
    file = read_model(options.file)
    document = {"kind": "model", **summary.model_document(file.model), "versions": file.versions}
    document |= {"sha256": file.sha256, "columns": file.columns}
    console.answer(options.json, _text(file, size), document)
    return OK


def _text(file: ModelFile, size: str) -> str:
    model: Any = file.model
    name = type(model).__name__
    given = model.get_params(deep=False)
    default = type(model)().get_params(deep=False)
    shown = ("n_components", "fairness_weight", "radius", "standardize")
    parameters = ", ".join(
        f"{key}={value!r}" for key, value in given.items() if key in shown or value != default[key]
    )
    found = summary.findings(model, model)
    names = getattr(model, "feature_names_in_", None)
    kept = "kept" if hasattr(model, "moments_") else "not kept: certify needs --moments"
    work = plural(model.n_eigensolves_, "eigen-solve")
    if getattr(model, "route_", "moments") == "products":
        kept = "none: fitted by products with the rows"
        work = f"{model.result_.n_passes} passes over the rows"
    fills = (file.columns or {}).get("fills")
    scaled = (file.columns or {}).get("scales") is not None
    lines = [
        f"{name}: {model.n_features_in_} features -> {model.n_components_} components, fitted on "
        f"{model.n_samples_:,} rows",
        "",
        summary.errors_table({name: model}),
        "",
        console.sentences(found.proof or found.headline),
        "",
        f"parameters  {parameters}",
        f"features    {_some(names, model.n_features_in_)}",
        *(["scale       mixed: features were divided before the fit"] if scaled else []),
        *([f"filled      {_filled(fills)}"] if fills else []),
        f"variance    {100 * model.explained_variance_ratio_.sum():.1f} % of the total is kept",
        f"moments     {kept}",
        f"solver      {model.result_.solver}, {work}",
        "written by  " + ", ".join(f"{key} {value}" for key, value in file.versions.items()),
        f"file        {size}, sha256 {file.sha256[:16]}...",
    ]
    return "\n".join(lines)


def _filled(fills: dict[str, Any]) -> str:
    """Name what takes the place of missing values."""
    values = [f"{name} = {number(x) if is_number(x) else x}" for name, x in fills.items()]
    more = f" ({console.ALL})" * (len(values) > _SHOWN)
    return f"missing values with {listed(values, str, most=_SHOWN)}{more}"


def _some(names: Any, count: int) -> str:
    if names is None:
        return f"{count}, without names"
    return listed(names, str, most=_SHOWN)
