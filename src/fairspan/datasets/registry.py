"""The data sets by name: their files, where they come from, whom to cite, their sizes."""

from __future__ import annotations

from fairspan.datasets.entry import DatasetInfo
from fairspan.ground.parameters import check_choice

_TABLES = (
    "https://raw.githubusercontent.com/hieuvt29/distributionally_robust_fair_pca/"
    "725d4111cc55be3534522d784e008b4fb40750f3/data/"
)
_FACES = (
    "https://github.com/mhli971/Fair-PCA/archive/0e2b4aa858d953932d73cb3237bd5acc29cb1762.tar.gz"
)
_PREPARED_BY = (
    'M. Olfat and A. Aswani, "Convex formulations for fair principal component analysis", '
    "AAAI 33, 663-670, 2019 (preparation of the tables)"
)


def _table(
    name: str,
    title: str,
    size: tuple[int, int],
    attribute: str,
    file: tuple[str, str],
    uci: tuple[int, str],
    citation: str,
    dropped: tuple[str, ...] = (),
) -> DatasetInfo:
    also = f"; {' and '.join(dropped)} are dropped too" if dropped else ""
    return DatasetInfo(
        name=name,
        title=title,
        file_name=file[0],
        url=_TABLES + file[0],
        sha256=file[1],
        attribute=attribute,
        n_rows=size[0],
        n_features=size[1],
        source=f"UCI Machine Learning Repository, data set {uci[0]}, {uci[1]}",
        licence="CC BY 4.0",
        citation=f"{citation}; {_PREPARED_BY}",
        dropped=dropped,
        notes="the last column is the sensitive attribute, the last but one is a label and is "
        f"dropped, as are columns that are constant over the file{also}",
    )


_YEH = (
    'I.-C. Yeh and C. Lien, "The comparisons of data mining techniques for the predictive '
    'accuracy of probability of default of credit card clients", Expert Systems with Applications '
    "36, 2473-2480, 2009"
)

_ENTRIES = (
    _table(
        "default_credit",
        "Default Credit",
        (30000, 22),
        "Education (high/low)",
        (
            "default_credit.csv",
            "30dca1ab34ffb63d7e41c21d0039d9f7f63a7518b52da55ace9ff9972e07a407",
        ),
        (350, "Default of Credit Card Clients"),
        _YEH,
    ),
    _table(
        "biodeg",
        "Biodeg",
        (1055, 40),
        "Ready Biodegradable (y/n)",
        ("Biodeg_Data.csv", "bcc1eb1c9cb30129de1be68ad8502b9ebe1dd1318ecc21c6b7f82e11cd68871d"),
        (254, "QSAR Biodegradation"),
        'K. Mansouri et al., "Quantitative structure-activity relationship models for ready '
        'biodegradability of chemicals", J. Chem. Inf. Model. 53, 867-878, 2013',
    ),
    _table(
        "e_coli",
        "E. Coli",
        (333, 7),
        "isCytoplasm (y/n)",
        ("Ecoli_Data.csv", "e29c3c493050eb57a04c2049efbb4b1be39f2cb1ac306bf6e54ab3c4f061577c"),
        (39, "Ecoli"),
        'K. Nakai and M. Kanehisa, "Expert system for predicting protein localization sites in '
        'gram-negative bacteria", Proteins 11, 95-110, 1991',
    ),
    _table(
        "energy",
        "Energy",
        (768, 8),
        "Orientation<4 (y/n)",
        ("Energy_Data.csv", "c0775d38abc0924625a5892d60377a65bd88a050eaa09d74ae05e75fdd53ed9a"),
        (242, "Energy Efficiency"),
        'A. Tsanas and A. Xifara, "Accurate quantitative estimation of energy performance of '
        'residential buildings using statistical machine learning tools", Energy and Buildings 49, '
        "560-567, 2012",
    ),
    _table(
        "german_credit",
        "German Credit",
        (1000, 48),
        "A13 >= 200 DM (y/n)",
        (
            "German_Credit_Data.csv",
            "83b94c63bcbf07db03db61a477af95eae8da51953712352f09f6eb339eedc548",
        ),
        (144, "Statlog (German Credit Data)"),
        "H. Hofmann, Statlog (German Credit Data), UCI Machine Learning Repository, 1994",
    ),
    _table(
        "image",
        "Image",
        (660, 18),
        "class (path/grass)",
        ("Image_Seg_Data.csv", "34e32f22f7dc9e207cc6ed23ba3dda8bddce8896fb7e248afa14a1544b1237a7"),
        (50, "Image Segmentation"),
        "Vision Group, University of Massachusetts, Image Segmentation, UCI Machine Learning "
        "Repository, 1990",
    ),
    _table(
        "letter",
        "Letter",
        (20000, 16),
        "Vowel (y/n)",
        ("Letter_Rec_Data.csv", "bb8d5659ee02881b6c32b4dd596f341ebc0e32f2b17ed37144c0d707e2b5b06e"),
        (59, "Letter Recognition"),
        'P. Frey and D. Slate, "Letter recognition using Holland-style adaptive classifiers", '
        "Machine Learning 6, 161-182, 1991",
    ),
    _table(
        "magic",
        "Magic",
        (19020, 10),
        "classIsGamma (y/n)",
        ("Magic_Data.csv", "1bf9702e9fbf9233b5edd6fa7fe97237851da7d281ec1997a3a6ee8946967308"),
        (159, "MAGIC Gamma Telescope"),
        'R. Bock et al., "Methods for multidimensional event classification: a case study using '
        'images from a Cherenkov gamma-ray telescope", Nucl. Instrum. Methods A 516, 511-528, 2004',
    ),
    _table(
        "parkinsons",
        "Parkinsons",
        (5875, 20),
        "Sex (male/female)",
        ("Parkinsons_Data.csv", "0178a10d70d80451ca60f280659939ff6a6d066b548bfbe2d0665f2f957314dc"),
        (189, "Parkinsons Telemonitoring"),
        "A. Tsanas et al., \"Accurate telemonitoring of Parkinson's disease progression by "
        'noninvasive speech tests", IEEE Trans. Biomed. Eng. 57, 884-893, 2010',
    ),
    _table(
        "skillcraft",
        "SkillCraft",
        (3337, 17),
        "Age>20 (y/n)",
        ("SkillCraft_Data.csv", "7eb6775714ae549eeb6d7f333a7ada137e68b2d084bc179c812d59bb8188cd41"),
        (272, "SkillCraft1 Master Table"),
        'J. Thompson et al., "Video game telemetry as a critical tool in the study of complex '
        'skill learning", PLoS ONE 8(9), e75129, 2013',
    ),
    _table(
        "statlog",
        "Statlog",
        (3071, 36),
        "RedSoil (vsgrey/dampgrey)",
        ("Statlog_Data.csv", "11af5268f91819f21e2b2140a6ff98129435a96591db8b725f758c45e655732e"),
        (146, "Statlog (Landsat Satellite)"),
        "A. Srinivasan, Statlog (Landsat Satellite), UCI Machine Learning Repository, 1993",
    ),
    _table(
        "steel",
        "Steel",
        (1941, 24),
        "FaultOther (y/n)",
        ("Steel_Data.csv", "888d8fac75d3e0f72d2319e3c17d6f9c1c01d7ba91feba42f997e04db3de833d"),
        (198, "Steel Plates Faults"),
        "M. Buscema, S. Terzi and W. Tastle, Steel Plates Faults, UCI Machine Learning "
        "Repository, 2010",
        dropped=("perimX", "perimY"),
    ),
    _table(
        "taiwan_credit",
        "Taiwan Credit",
        (29623, 22),
        "Sex (male/female)",
        (
            "Taiwanese_Credit_Data.csv",
            "e46136ef029367f0bd0fce5d9e24ee891f03e4670206a4d0f80f3266c81410f2",
        ),
        (350, "Default of Credit Card Clients"),
        _YEH,
    ),
    _table(
        "wine_quality",
        "Wine Quality",
        (6497, 11),
        "isWhite (y/n)",
        (
            "Wine_Quality_Data.csv",
            "aa9cb850c02f8c0725d11990f60efa1ecd8f5e1f4425045932c33457b05bfcf5",
        ),
        (186, "Wine Quality"),
        'P. Cortez et al., "Modeling wine preferences by data mining from physicochemical '
        'properties", Decision Support Systems 47, 547-553, 2009',
    ),
    DatasetInfo(
        name="lfw",
        title="LFW",
        file_name="lfw_faces_49x36.npz",
        url=_FACES,
        sha256="",
        attribute="Sex (male/female)",
        n_rows=13232,
        n_features=49 * 36,
        source="Labeled Faces in the Wild, University of Massachusetts, Amherst",
        licence="none is stated; photographs from the news, gathered for research",
        citation='G. Huang et al., "Labeled Faces in the Wild: a database for studying face '
        'recognition in unconstrained environments", Technical Report 07-49, University of '
        'Massachusetts, Amherst, 2007; S. Samadi et al., "The price of fair PCA: one extra '
        'dimension", NeurIPS 31, 2018 (use in fair PCA)',
        notes="grey faces of 49 x 36 pixels, row by row, rounded to whole levels from 0 to 255; "
        "labels sex (0 female, 1 male), white, black and asian (not exclusive). The paper draws "
        "2,000 women and 2,000 men and rescales them to 24 x 24",
    ),
)

_REGISTRY = {entry.name: entry for entry in _ENTRIES}


def names() -> tuple[str, ...]:
    """List the data sets of the paper, in its order.

    Returns
    -------
    tuple of str
        The names that :func:`load` takes.
    """
    return tuple(_REGISTRY)


def info(name: str) -> DatasetInfo:
    """Look up what is known about a data set, without loading it.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    DatasetInfo
        File, address, digest, size, licence and citation.
    """
    return _REGISTRY[check_choice("name", name, _REGISTRY)]


def describe(name: str) -> str:
    """Describe a data set in a few lines of text.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    str
        Size, sensitive attribute, source, licence, citation, preparation and file.
    """
    return info(name).description
