"""JSON and durations on the command line."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "text",
    ['{"n": 1} x', '{"n": NaN}', '{"n": -Infinity}', "{'n': 1}", "", '{"n": 1', "\ufeff{}", "[" * 9999],
)
def test_anything_but_one_json_document_is_wrong_usage(cli, text) -> None:
    """Invalid JSON is wrong usage, the message names the argument, and nothing is stored."""
    refused = cli("enqueue", "q", "k", text, code=2)

    assert "Invalid value for 'BRIEF': not JSON" in refused.stderr
    assert cli.json("tasks", "list")["tasks"] == []


def test_brief_from_a_file_and_from_standard_input(cli, tmp_path) -> None:
    """`@file` and `-` read the document from there, as UTF-8."""
    (tmp_path / "brief.json").write_text('{"from": "é"}\n', encoding="utf-8")
    cli("enqueue", "q", "k", "@brief.json")
    cli("enqueue", "q", "k", "-", input='{"from": "stdin"}')

    briefs = [task["brief"] for task in cli.json("tasks", "list")["tasks"]]

    assert briefs == [{"from": "é"}, {"from": "stdin"}]


def test_missing_file_is_wrong_usage(cli) -> None:
    """A file that is not there is wrong usage and is named."""
    assert "cannot read absent.json: No such file" in cli("enqueue", "q", "k", "@absent.json", code=2).stderr


def test_broken_utf_8_is_wrong_usage(cli) -> None:
    """Bytes that are not UTF-8 are no document."""
    assert "not UTF-8" in cli("enqueue", "q", "k", "-", input=b'{"n": "\xff"}', code=2).stderr


def test_what_only_the_store_can_refuse_is_refused_by_the_store(cli) -> None:
    """A document that is JSON but not a brief is the store's to refuse, by its code."""
    assert cli("enqueue", "q", "k", "[]", code=1).stderr.startswith("error: invalid_request: ")
    assert cli("enqueue", "q", "k", '{"n": 9007199254740993}', code=1).stderr.startswith(
        "error: invalid_request"
    )


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "soon"])
def test_a_duration_is_a_finite_number(cli, seconds) -> None:
    """NaN, infinities, negative numbers and words are no durations."""
    cli("enqueue", "q", "k", "{}", "--delay", seconds, code=2)


def test_a_store_that_cannot_be_opened_is_refused(cli, tmp_path) -> None:
    """A path that holds no store ends with one line and exit code 1."""
    refused = cli("queues", "list", "--store", str(tmp_path), code=1)

    assert refused.stderr.startswith("error: unavailable: ")
    assert len(refused.stderr.splitlines()) == 1


def test_store_option_wins_over_the_environment(cli, tmp_path) -> None:
    """`--store` names another store than TESSERA_STORE."""
    cli("records", "put", "s", "k", "1", "--store", str(tmp_path / "other.db"))
    assert cli.json("records", "stores", "--store", str(tmp_path / "other.db")) == {
        "stores": ["s"],
        "next": None,
    }
    assert cli.json("records", "stores") == {"stores": [], "next": None}
