"""`python -m conformance.lock` records the hash of every file of the suite; `--check` compares them.

A backend is judged by the suite, so the suite must not change unnoticed with the code it judges. The lock's
lines are those of `sha256sum`, which can check them too.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = "conformance.lock"
MATTERS = ("*.py", "*.md", "*.json")
ON_PURPOSE = "If that is on purpose, run `make lock-suite`."


@dataclass(frozen=True)
class Drift:
    """How the suite's files differ from the lock, as paths below the root."""

    changed: list[str]
    missing: list[str]
    added: list[str]

    @property
    def refused(self) -> bool:
        """Whether the suite may not run. A file that was added takes no claim away, so it may."""
        return bool(self.changed or self.missing)

    def lines(self) -> list[str]:
        """One line for each difference."""
        kinds = (("changed", self.changed), ("missing", self.missing), ("added", self.added))
        return [f"{kind}: {path}" for kind, paths in kinds for path in paths]


def hashes(root: Path = ROOT) -> dict[str, str]:
    """The SHA-256 of every file of the suite that matters, by its path below the root."""
    files = {file for pattern in MATTERS for file in (root / "conformance").rglob(pattern)}
    return {
        file.relative_to(root).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


def write(root: Path = ROOT) -> int:
    """Lock the suite as it is. Returns how many files that are."""
    locked = hashes(root)
    lines = [f"{digest}  {path}\n" for path, digest in sorted(locked.items(), key=lambda pair: pair[0])]
    (root / LOCK).write_text("".join(lines), encoding="utf-8")
    return len(locked)


def drift(root: Path = ROOT) -> Drift:
    """Compare the suite with its lock. Without a lock the lock itself is what is missing."""
    if not (root / LOCK).exists():
        return Drift(changed=[], missing=[LOCK], added=[])
    lines = (root / LOCK).read_text(encoding="utf-8").splitlines()
    locked = {path: digest for digest, _, path in (line.partition("  ") for line in lines)}
    found = hashes(root)
    return Drift(
        changed=sorted(path for path in locked.keys() & found.keys() if locked[path] != found[path]),
        missing=sorted(locked.keys() - found.keys()),
        added=sorted(found.keys() - locked.keys()),
    )


def refusal(found: Drift) -> str:
    """Why the suite will not run, for people."""
    lines = "\n".join(f"  {line}" for line in found.lines())
    return f"The conformance suite is not the one that was locked:\n{lines}\n{ON_PURPOSE}"


def main(arguments: list[str]) -> int:
    """Write the lock, or check it: 0 as locked, 1 changed, 2 wrong usage."""
    if arguments == []:
        sys.stdout.write(f"Locked {write()} files in {LOCK}.\n")
        return 0
    if arguments != ["--check"]:
        sys.stderr.write("usage: python -m conformance.lock [--check]\n")
        return 2
    found = drift()
    if found.refused:
        sys.stderr.write(refusal(found) + "\n")
        return 1
    sys.stdout.write("".join(f"{line}\n" for line in found.lines()) + "The suite is as it was locked.\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
