"""Why the columns of a table cannot be used as they are, and what to type instead."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from fairspan.ground.listed import listed

Name = str | int
"""Columns of tables have names; those of arrays have numbers."""

OTHERS = "*"
"""Stands for all columns that a mapping does not name."""
SHOWN, CATEGORIES, _TYPED = 6, 20, 20
"""Columns that are named as examples; a column with more different texts is hardly one of
categories; columns that are named where the names are to be typed."""
_DECIMAL = re.compile(r"[-+]?\d*,\d+(e[-+]?\d+)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"[-+]?\d{1,3},\d{3}")
_POINT = re.compile(r"[-+]?\d*\.\d+(e[-+]?\d+)?", re.IGNORECASE)
_GROUPED = re.compile(
    r"[-+]?\d[\d.,]*[.,][\d.,]*|[-+]?\d{1,3}([ \u00a0\u202f'\u2019]\d{3})+([.,]\d*)?"
)
_UNITS = re.compile(r"[-+]?[$\u00a3\u00a5\u20ac]? ?[-+]?\d[\d.,]* ?[%$\u00a3\u00a5\u20ac]?")
_MINUS = re.compile(r"[\u2212\u2013] ?\d*[.,]?\d+")
_MARK = re.compile(r"[^\w\s]+")
_DATE = re.compile(r"\d{4}([-/.])\d\d?\1\d\d?([T ].*)?|\d\d?([-/.])\d\d?\3(\d{4}|\d\d)( .*)?")
_DATES = ("date", "time", "duration")
"""How the names of types that hold dates begin."""


class Rules(NamedTuple):
    """What is done about missing values, and the columns that are not features."""

    drops: bool
    weight: Name | None
    groups: tuple[Name, ...]
    rule: str | None
    are_fixed: bool = False
    keeps_target: bool = False


def not_complete(
    missing: str,
    n_rows: int,
    columns: Mapping[Name, int],
    words: Mapping[Name, str],
    rules: Rules,
) -> str:
    """Say what to do about missing values.

    Parameters
    ----------
    missing : str
        What is missing where.
    n_rows : int
        How many rows there are.
    columns : mapping
        The columns with missing values, and how many there are.
    words : mapping
        By column of labels, a word that counts as missing and may be a label.
    rules : Rules
        What is done about them.

    Returns
    -------
    str
        The refusal.
    """
    features = [name for name in columns if name not in (*rules.groups, rules.weight)]
    if rules.are_fixed:
        filled = "a model that is fitted with missing='mean' fills them in"
        return f"{missing}. Leave out those rows with missing='drop_rows'; {filled}."
    if empty := [name for name in features if columns[name] == n_rows]:
        return f"{missing}. {no_values(empty)}"
    # What is learnt from all rows would be learnt from held-out ones too, where a model is judged.
    fills = features and rules.rule is None and not rules.keeps_target
    fill = ", fill them in with missing='mean'" if fills else ""
    sentence = f"{missing}. Leave out those rows with missing='drop_rows'{fill}"
    if features:
        sentence += f", or leave out those columns with {_keyword('drop', features)}"
    # What fills features goes on to do so.
    others = {} if rules.rule is None else {OTHERS: rules.rule}
    labels = {name: word for name, word in words.items() if name in columns}
    if labels:
        spelled = listed(dict.fromkeys(labels.values()))
        use = f"use missing={others | labels}"
        sentence += f". If {spelled} is a label and not a missing value, {use}"
    elif groups := [name for name in columns if name in rules.groups]:
        own = others | dict.fromkeys(groups, "unknown")
        sentence += f". Rows without a label become a group of their own with missing={own}"
    return f"{sentence}."


def no_values(names: Sequence[Name]) -> str:
    """Say what to do about columns that hold nothing."""
    return f"Leave out columns without any value with {_keyword('drop', names)}."


def not_numbers(
    where: str,
    text: Mapping[Name, Mapping[str, str | None]],
    rules: Rules,
    strays: Collection[Name] = (),
) -> str:
    """Say which columns should be numbers and are not, and the ways out.

    Parameters
    ----------
    where : str
        The table.
    text : mapping
        By column, texts and the places where they were met; or its type and None.
    rules : Rules
        The columns that are no features.
    strays : collection
        Columns in which nearly all cells are numbers.

    Returns
    -------
    str
        The refusal.
    """
    weight = rules.weight
    cut = [name for name in text if name in rules.groups and name != weight]
    examples = {name: next(iter(met.items())) for name, met in text.items()}
    shown = (
        f"{name!r} ({word if place is None else f'{word!r}{place}'})"
        for name, (word, place) in examples.items()
    )
    sentence = f"{where} has columns that are not numbers: {listed(shown, str, most=SHOWN)}."
    kinds = {name: _kind(met, examples[name][1] is None) for name, met in text.items()}
    kinds |= {name: "stray" for name in strays if kinds[name] in ("category", "other")}
    if "decimal" in kinds.values():
        # Where other columns have decimal commas, those before three digits are some, too.
        kinds = {name: "decimal" if kind == "thousands" else kind for name, kind in kinds.items()}
    if found := _of(kinds, "decimal"):
        sentence += (
            f" Numbers in {found} have a comma: use decimal=',' if it is a decimal comma, and "
            "remove it from the file if it separates thousands."
        )
    if found := _of(kinds, "thousands"):
        sentence += (
            f" Numbers in {found} have a comma before three digits: remove it from the file if it "
            "separates thousands (decimal=',' if it is a decimal comma)."
        )
    if found := _of(kinds, "grouped"):
        sentence += f" Numbers in {found} have marks between thousands: remove these from the file."
    if found := _of(kinds, "point"):
        sentence += (
            f" Numbers in {found} have a point: leave out decimal=',' if it is a decimal point, "
            "and remove it from the file if it separates thousands."
        )
    if found := _of(kinds, "units"):
        sentence += f" Numbers in {found} have signs such as % or $: remove these from the file."
    if found := _of(kinds, "minus"):
        sentence += f" Minus signs in {found} are not hyphens: write - in the file."
    if found := _of(kinds, "mark"):
        sentence += f" Where marks in {found} stand for missing values, leave those cells blank."
    if found := _of(kinds, "stray"):
        sentence += f" Most cells of {found} are numbers: correct the others, or leave them blank."
    if found := _of(kinds, "date"):
        days = "derive a number, such as an age in days"
        sentence += f" Dates in {found} cannot be features: {days}."
    if cut:
        sentence += f" bins=... cuts numbers only: leave it out for {listed(cut)}."
    kept = (weight, *cut)
    others = [name for name, kind in kinds.items() if kind != "decimal" and name not in kept]
    if others:
        sentence += f" Leave out columns with {_keyword('drop', others)}"
        if few := [name for name in others if kinds[name] == "category"]:
            zeros = "turn each category into a column of zeros and ones with"
            sentence += f", {zeros} {_keyword('one_hot', few)}"
        sentence += ", or name the columns to use with features=[...]."
    if weight in text:
        sentence += f" weight={weight!r} must be a column of numbers."
    return sentence


def _kind(met: Mapping[str, str | None], is_type: bool) -> str:
    """Tell what the texts of a column, or the name of its type, look like."""
    if is_type:
        (name,) = met
        return "date" if name.startswith(_DATES) else "category" if "string" in name else "other"
    patterns = {
        "thousands": _THOUSANDS,
        "decimal": _DECIMAL,
        "date": _DATE,
        "point": _POINT,
        "grouped": _GROUPED,
        "units": _UNITS,
        "minus": _MINUS,
        "mark": _MARK,
    }
    usual = "category" if len(met) <= CATEGORIES else "other"
    return next((kind for kind, form in patterns.items() if all(map(form.fullmatch, met))), usual)


def is_label(met: Mapping[str, str | None]) -> bool:
    """Whether the texts of a column look like labels, and there are some."""
    return bool(met) and _kind(met, False) in ("category", "other")


def _of(kinds: Mapping[Name, str], *wanted: str) -> str:
    names = [name for name, one in kinds.items() if one in wanted]
    return listed(names, most=SHOWN) if names else ""


def _keyword(option: str, names: Sequence[Name]) -> str:
    more = f" and {len(names) - _TYPED} more" if len(names) > _TYPED else ""
    return f"{option}={list(names[:_TYPED])}{more}"
