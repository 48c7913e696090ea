"""What to hand in for a command that has ended, and the text it left."""

from __future__ import annotations

import pytest

from tessera.cli.program import STDOUT_BYTES_MAX, Verdict, judge
from tessera.cli.text import cut_front, shortened, visible
from tessera.limits import ERROR_BYTES_MAX


def test_exit_0_with_json_is_the_output() -> None:
    """One JSON document on stdout, white space around it or not, is the output."""
    assert judge(0, b' {"n": 1}\n', b"noise") == Verdict(ok=True, output={"n": 1})


@pytest.mark.parametrize("stdout", [b"", b" \n"])
def test_exit_0_with_nothing_is_null(stdout) -> None:
    """A command that has nothing to say hands in null."""
    assert judge(0, stdout, b"") == Verdict(ok=True, output=None)


@pytest.mark.parametrize("stdout", [b"hello", b"{} {}", b"NaN", b'"\xff"', b"[" * 5_000])
def test_exit_0_with_anything_else_fails(stdout) -> None:
    """Text that is not one JSON document fails the task with a clear error."""
    verdict = judge(0, stdout, b"")

    assert not verdict.ok
    assert verdict.error.startswith("stdout is not one JSON document: ")


def test_endless_output_fails() -> None:
    """Output far over the limit is not even parsed."""
    assert judge(0, b" " * (STDOUT_BYTES_MAX + 1), b"").error == "stdout is over the limit of 1048576 bytes"


def test_other_exit_codes_fail_with_stderr() -> None:
    """Any other exit code fails, whatever is on stdout, with the end of stderr as the error."""
    assert judge(3, b"{}", "böse".encode()) == Verdict(ok=False, error="böse")


@pytest.mark.parametrize("stderr", [("é" * 9_000 + "x").encode(), b"\xff" * 9_000])
def test_a_long_error_is_cut_at_a_character(stderr) -> None:
    """Of a long stderr the last 8 KiB are kept, never half a character, broken UTF-8 included."""
    error = judge(1, b"", stderr).error

    assert ERROR_BYTES_MAX - 3 < len(error.encode()) <= ERROR_BYTES_MAX
    assert error[0] in "é\ufffd"


@pytest.mark.parametrize(
    ("code", "words"),
    [(3, "the command ended with exit code 3"), (-9, "the command was killed by SIGKILL")],
)
def test_a_silent_failure_says_how_it_ended(code, words) -> None:
    """A command that fails without a word gets one."""
    assert judge(code, b"", b"\n").error == f"{words} and wrote nothing to stderr"


def test_cut_front_keeps_a_short_text() -> None:
    """A text within the size stays as it is."""
    assert cut_front("aé", 3) == "aé"
    assert cut_front("aé", 1) == ""


def test_visible_and_shortened() -> None:
    """Control characters show, lines join, and a cut is marked."""
    assert visible("a\x1b\u202e\nb") == "a\\x1b\\u202e\nb"
    assert shortened("a\n b", 9) == "a b"
    assert shortened("abcdef", 4) == "abc…"
