"""A report: plain numbers, and the ways to show them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

from fairspan.ground.atomic import replacing
from fairspan.report._card import model_card
from fairspan.report._page import page
from fairspan.report._sentences import sentences


@dataclass(frozen=True)
class Report:
    """How PCA and RobustFairPCA describe the groups of a table; made by ``report.build``.

    Attributes
    ----------
    content : dict
        Everything the report says, as plain lists, numbers and texts. There is no row of the data
        in it, unless that was asked for.
    """

    content: dict[str, Any] = field(repr=False)

    @property
    def headline(self) -> str:
        """How plain PCA serves the groups, in one sentence."""
        return sentences(self.content)[0]

    @property
    def summary(self) -> str:
        """The headline, what the fair projection does about it, and what is proved."""
        return " ".join(sentences(self.content))

    def to_html(self) -> str:
        """Give the page: one self-contained html text that needs no network.

        Returns
        -------
        str
            The page.
        """
        return page(self.content)

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which is replaced only when the new one is whole.

        Parameters
        ----------
        path : str or path
            The file to write.
        """
        with replacing(path) as temporary:
            temporary.write_text(self.to_html(), encoding="utf-8", newline="\n")

    def to_json(self) -> str:
        """Give the same numbers for programs.

        Returns
        -------
        str
            A JSON text.
        """
        return json.dumps(self.content, ensure_ascii=False, allow_nan=False)

    def model_card(self) -> str:
        """Give the facts of the report's setting on one page of text.

        Returns
        -------
        str
            A Markdown text.
        """
        return model_card(self.content)
