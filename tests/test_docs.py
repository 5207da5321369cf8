"""What README and docs show is true: their code runs, prints what they say, and links resolve."""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

import fairspan
from fairspan import cli
from tests.public_names import MODULES

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
RESULTS = sorted((ROOT / "docs" / "reproduction").rglob("*.md"))
"""Tables that ``fairspan reproduce`` wrote: pages of the site without code."""
SHELLS = ("console", "bash", "sh", "")
SKIP = "skip"
"""A block opts out visibly, by this word after its language; a comment before it says why."""


class Block(NamedTuple):
    """A fenced block of a page."""

    line: int
    language: str
    options: list[str]
    text: str
    before: str


def blocks(page: Path) -> list[Block]:
    found, lines = [], page.read_text(encoding="utf-8").split("\n")
    start, before = None, ""
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if start is None:
            start = number
            before = next((text for text in reversed(lines[:number]) if text.strip()), "")
            continue
        language, *options = lines[start][3:].split() or [""]
        text = "\n".join(lines[start + 1 : number]) + "\n"
        found.append(Block(start + 1, language, options, text, before))
        start = None
    assert start is None, f"{page.name}:{start}: a block is not closed"
    return found


def run_python(block: Block, page: Path, names: dict) -> str:
    printed = io.StringIO()
    # Padding makes the line numbers of a traceback those of the page.
    code = compile("\n" * block.line + block.text, str(page), "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def run_shell(block: Block, page: Path) -> None:
    """Run every ``fairspan ...`` of a block; other programs (make, pip) are not ours to run.

    In a console block, the lines below a command are its output. A command succeeds, unless
    ``echo $?`` after it shows another code.
    """
    prompt = "$ " if block.language == "console" else ""
    lines = block.text.replace("\\\n", " ").splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith(prompt)] if prompt else []
    code = cli.OK
    for i, line in enumerate(lines):
        if not line.startswith(f"{prompt}fairspan "):
            continue
        words = shlex.split(line.removeprefix(prompt), comments=True)
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            code = cli.main(words[1:])
        end = next((start for start in starts if start > i), len(lines))
        expected = cli.OK
        if lines[end : end + 1] == ["$ echo $?"]:
            expected = int(lines[end + 1])
        assert code == expected, f"{page.name}:{block.line}: {line}\n{shown.getvalue()}"
        if prompt and (told := "\n".join(lines[i + 1 : end]).strip("\n")):
            assert same_output(told, shown.getvalue()), f"{page.name}: {line}\n{shown.getvalue()}"


def same_output(told: str, shown: str) -> bool:
    """Compare up to what differs between machines: rounding errors, and what a page leaves out."""
    told, shown = (
        re.sub(
            r"\d+\.\d{9,}|\b\d(\.\d+)?e-\d\d\b",
            lambda found: f"{float(found[0]):.8g}" if float(found[0]) > 1e-7 else "0",
            text,
        )
        for text in (told, shown)
    )
    lines = "\n".join(line.rstrip() for line in shown.splitlines())
    return doctest.OutputChecker().check_output(told + "\n", lines + "\n", doctest.ELLIPSIS)


@pytest.fixture
def clean_matplotlib(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    matplotlib.pyplot.close("all") if "matplotlib.pyplot" in sys.modules else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_runs_in_order_and_prints_what_the_page_says(
    page, tmp_path, monkeypatch, clean_matplotlib
):
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__page__"}
    printed: str | None = None
    for block in blocks(page):
        if SKIP in block.options:
            continue
        if block.language == "python":
            printed = run_python(block, page, names)
        elif block.language == "text" and printed is not None:
            told = block.text.rstrip("\n")
            assert same_output(told, printed), f"{page.name}:{block.line}:\n{printed}"
            printed = None
        elif block.language in SHELLS:
            run_shell(block, page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_that_do_not_run_say_why(page):
    known = {"python", "text", "markdown", "bibtex", *SHELLS}
    odd = {b.language for b in blocks(page) if not b.language.startswith("{")} - known
    assert odd == set()
    silent = [b.line for b in blocks(page) if SKIP in b.options and "<!--" not in b.before]
    assert silent == []


@pytest.mark.parametrize("page", PAGES + RESULTS, ids=lambda page: page.name)
def test_links_to_files_resolve(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    targets = re.findall(r"\]\(([^)\s]+)\)", prose)
    broken = [target for target in targets if not resolves(target, page)]
    assert broken == []


def resolves(target: str, page: Path) -> bool:
    path, _, anchor = target.partition("#")
    if re.match(r"[a-z]+:", target):
        return True
    # The gallery and the generated reference exist once the site is built, from these files.
    if path.startswith("auto_examples/"):
        name = Path(path).stem
        return name == "index" or (ROOT / "examples" / f"{name}.py").is_file()
    file = page if not path else page.parent / path
    if not file.is_file():
        return False
    return not anchor or file.suffix != ".md" or anchor in anchors(file)


def anchors(page: Path) -> set[str]:
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, flags=re.M)
    slugs = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, flags=re.M))


def test_every_page_of_the_site_is_reachable():
    toctrees = [
        line
        for page in PAGES
        for block in blocks(page)
        if block.language == "{toctree}"
        for line in block.text.splitlines()
        if line and not line.startswith(":")
    ]
    docs = ROOT / "docs"
    files = [*docs.glob("*.md"), *RESULTS]
    pages = {path.relative_to(docs).with_suffix("").as_posix() for path in files} - {"index"}
    assert pages - set(toctrees) == set()
    assert [name for name in toctrees if name not in pages] == ["auto_examples/index"]


def test_every_public_name_is_in_the_reference():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^ {3}(\w[\w.]*)$", text, flags=re.M)
    # Plain values and building blocks have no page of their own: they are described there.
    described = rf"(?:auto|py:)data:: fairspan\.|auto\w+:: fairspan\.(?={'|'.join(MODULES)})"
    listed += re.findall(rf"^\.\. (?:{described})([\w.]+)$", text, flags=re.M)
    assert sorted(listed) == sorted(public_names())


def public_names() -> list[str]:
    """Names of the package, and of its public modules instead of the modules themselves."""
    found = []
    for name in fairspan.__all__:
        public = getattr(fairspan, name)
        is_module = inspect.ismodule(public)
        found += [f"{name}.{part}" for part in public.__all__] if is_module else [name]
    for name in MODULES:
        found += [f"{name}.{part}" for part in import_module(f"fairspan.{name}").__all__]
    return found


def test_every_command_and_exit_code_is_shown():
    page = ROOT / "docs" / "command-line.md"
    shown = "".join(block.text for block in blocks(page))
    assert [name for name in cli.COMMANDS if f"$ fairspan {name} " not in shown] == []
    codes = {cli.OK, cli.FAILED, cli.BAD_USAGE, cli.NOT_PROVED, cli.INTERRUPTED, cli.NO_READER}
    table = re.findall(r"^\| (\d+) \|", page.read_text(encoding="utf-8"), flags=re.M)
    assert set(map(int, table)) == codes
