"""The wheel and the source archive hold what they should, byte for byte, and nothing else.

``python -m tests.check_dist dist`` looks at what ``python -m build`` made: a source archive, and a
wheel built from it.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
NOT_PUBLISHED = (".ci/",)
"""Files under version control that only serve the project's own machines."""


def tracked(folder: str = "") -> dict[str, bytes]:
    """Files under version control, which no cache or output is."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder or "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = sorted(filter(None, listed.stdout.split("\0")))
    return {name: (ROOT / name).read_bytes() for name in names}


def in_wheel(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def in_archive(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        files = [member for member in archive.getmembers() if member.isfile()]
        return {
            member.name.partition("/")[2]: archive.extractfile(member).read() for member in files
        }


def differences(found: dict[str, bytes], expected: dict[str, bytes]) -> list[str]:
    """What is missing, too much or changed."""
    lines = [f"missing: {name}" for name in expected.keys() - found.keys()]
    lines += [f"too much: {name}" for name in found.keys() - expected.keys()]
    both = found.keys() & expected.keys()
    return sorted(lines + [f"changed: {name}" for name in both if found[name] != expected[name]])


def wrong_in_wheel(path: Path) -> list[str]:
    package = {name.removeprefix("src/"): data for name, data in tracked("src").items()}
    licence = (ROOT / "LICENSE").read_bytes()
    found = in_wheel(path)
    info = "-".join(path.name.split("-")[:2]) + ".dist-info"
    told = {f"{info}/{name}": found.get(f"{info}/{name}", b"") for name in METADATA}
    return differences(found, package | told | {f"{info}/licenses/LICENSE": licence})


def wrong_in_archive(path: Path) -> list[str]:
    expected = {
        name: data for name, data in tracked().items() if not name.startswith(NOT_PUBLISHED)
    }
    found = in_archive(path)
    found.pop("PKG-INFO")
    return differences(found, expected)


def main(folder: str) -> int:
    (wheel,) = Path(folder).glob("*.whl")
    (archive,) = Path(folder).glob("*.tar.gz")
    wrong = [f"{wheel.name}: {line}" for line in wrong_in_wheel(wheel)]
    wrong += [f"{archive.name}: {line}" for line in wrong_in_archive(archive)]
    print("\n".join(wrong) or f"{wheel.name} and {archive.name} hold what they should.")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
