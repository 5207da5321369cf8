"""Shared fixtures: the paper's data from FAIRSPAN_DATA, loaded without any code of the package."""

from __future__ import annotations

import csv
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

PAPER_FILES = {
    "default_credit": "default_credit.csv",
    "biodeg": "Biodeg_Data.csv",
    "e_coli": "Ecoli_Data.csv",
    "energy": "Energy_Data.csv",
    "german_credit": "German_Credit_Data.csv",
    "image": "Image_Seg_Data.csv",
    "letter": "Letter_Rec_Data.csv",
    "magic": "Magic_Data.csv",
    "parkinsons": "Parkinsons_Data.csv",
    "skillcraft": "SkillCraft_Data.csv",
    "statlog": "Statlog_Data.csv",
    "steel": "Steel_Data.csv",
    "taiwan_credit": "Taiwanese_Credit_Data.csv",
    "wine_quality": "Wine_Quality_Data.csv",
}


def data_directory() -> Path | None:
    """The paper's data, if it is here; a failure if it must be and is not."""
    folder = os.environ.get("FAIRSPAN_DATA")
    if folder and (Path(folder) / "Wine_Quality_Data.csv").exists():
        return Path(folder)
    if os.environ.get("FAIRSPAN_REQUIRE_DATA") == "1":
        raise RuntimeError(f"FAIRSPAN_REQUIRE_DATA=1, but FAIRSPAN_DATA={folder!r} has no data.")
    return None


needs_paper_data = pytest.mark.skipif(
    data_directory() is None,
    reason="needs the paper's data: set FAIRSPAN_DATA to the folder that holds its csv files",
)


@cache
def paper_table(name: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Features, groups and feature names of one of the paper's tables, as the paper uses them."""
    folder = data_directory()
    assert folder is not None
    with open(folder / PAPER_FILES[name], newline="") as file:
        header, *rows = csv.reader(file, skipinitialspace=True)
    table = np.array(rows, dtype=float)
    X, groups, names = table[:, :-2], table[:, -1].astype(int), np.array(header[:-2])
    keep = X.std(axis=0) > 0
    if name == "steel":
        keep &= ~np.isin(names, ["perimX", "perimY"])
    return X[:, keep], groups, list(names[keep])


def standardised(X: np.ndarray) -> np.ndarray:
    """Mean 0 and standard deviation 1 (ddof 0); constant columns are only centred."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread <= 1e-10, 1.0, spread)
