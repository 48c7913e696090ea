"""`jobs register`, `jobs update`, `jobs list`."""

from __future__ import annotations

from typing import get_args

import pytest

from tessera.cli import jobs
from tessera.models.jobs import JobStatus


@pytest.fixture
def leased(store, enqueue) -> str:
    """A task of `q` that is leased under token 1."""
    task_id = enqueue()
    store.define_queue("q", heartbeat_seconds=600)
    assert store.claim("q", "w1") is not None
    return task_id


def test_register_gives_the_wire_s_job(cli, leased) -> None:
    """A new job is queued, has used and cost nothing; registered again it is answered as it is."""
    job = cli.json("jobs", "register", leased, "1", "resp_1", "--model", "muse")

    assert (job["job_id"], job["task_id"], job["fencing_token"]) == ("resp_1", leased, 1)
    assert (job["model"], job["status"], job["usage"], job["cost_usd"]) == ("muse", "queued", {}, None)
    assert cli.json("jobs", "register", leased, "1", "resp_1", "--model", "muse") == job
    other = cli("jobs", "register", leased, "1", "resp_1", "--model", "other", code=1)
    assert other.stderr.startswith("error: idempotency_conflict: ")


def test_register_needs_the_live_lease_and_a_model(cli, leased) -> None:
    """A wrong token is `stale_lease`; leaving the model out is wrong usage."""
    refused = cli("jobs", "register", leased, "2", "resp_1", "--model", "muse", code=1)

    assert refused.stderr.startswith("error: stale_lease: ")
    assert "Missing option '--model'" in cli("jobs", "register", leased, "1", "resp_1", code=2).stderr


def test_update_passes_every_option_on(cli, store, leased, tmp_path) -> None:
    """Status, usage and cost each have their option; what is left out stays."""
    store.register_job(leased, 1, "resp_1", "muse")
    (tmp_path / "usage.json").write_text('{"tokens": 3}')

    cli("jobs", "update", "resp_1", "--status", "in_progress")
    cli("jobs", "update", "resp_1", "--usage", "@usage.json")
    job = cli.json("jobs", "update", "resp_1", "--cost-usd", "0.25")

    assert (job["status"], job["usage"], job["cost_usd"]) == ("in_progress", {"tokens": 3}, 0.25)
    assert cli.json("jobs", "update", "resp_1", "--cost-usd", "0")["cost_usd"] == 0


@pytest.mark.parametrize(
    "news",
    [
        [], ["--status", "cancel_requested"], ["--status", "done"], ["--usage", "{"], ["--cost-usd", "nan"],
        ["--cost-usd", "inf"], ["--cost-usd", "-0.01"], ["--cost-usd", "much"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_update_used_wrongly(cli, store, leased, news) -> None:
    """No news, words that are no status, broken JSON and costs that are no amount are wrong usage."""
    job = store.register_job(leased, 1, "resp_1", "muse")

    cli("jobs", "update", "resp_1", *news, code=2)

    assert store.jobs().jobs == [job]


def test_update_refused_by_the_store(cli, store, leased) -> None:
    """A usage that is no object, a job that has ended and one that nobody knows are the store's to refuse."""
    store.register_job(leased, 1, "resp_1", "muse")
    assert cli("jobs", "update", "resp_1", "--usage", "[]", code=1).stderr.startswith("error: invalid_req")
    cli("jobs", "update", "resp_1", "--status", "completed")

    late = cli("jobs", "update", "resp_1", "--status", "failed", code=1)

    assert late.stderr.startswith("error: invalid_state: ")
    unknown = cli("jobs", "update", "absent", "--status", "failed", code=1)
    assert unknown.stderr.startswith("error: not_found: ")


def test_a_cancelled_job_fails_its_task(cli, store, leased) -> None:
    """Cancelling a job under its live lease gives the task back as failed."""
    store.register_job(leased, 1, "resp_1", "muse")

    assert "cancelled" in cli("jobs", "update", "resp_1", "--status", "cancelled").stdout
    task = cli.json("tasks", "show", leased)
    assert (task["state"], task["failures"]) == ("ready", 1)


def test_list_pages(cli, store, enqueue, leased) -> None:
    """A page goes on after a job, of one task or of all, in JSON and as a table."""
    other = enqueue()
    assert store.claim("q", "w2") is not None
    for n, task_id in enumerate([leased, leased, other]):
        store.register_job(task_id, 1, f"resp_{n}", "muse")

    page = cli.json("jobs", "list", "--limit", "2")
    rest = cli.json("jobs", "list", "--after", page["next"])

    assert [job["job_id"] for job in page["jobs"]] == ["resp_0", "resp_1"]
    assert ([job["job_id"] for job in rest["jobs"]], rest["next"]) == (["resp_2"], None)
    assert [job["job_id"] for job in cli.json("jobs", "list", other)["jobs"]] == ["resp_2"]
    text = cli("jobs", "list", "--limit", "1")
    assert "resp_0" in text.stdout
    assert text.stderr == "More: --after resp_0\n"
    assert cli("jobs", "list", "--after", "resp_2").stdout == "No such jobs.\n"
    assert cli("jobs", "list", "absent", code=1).stderr.startswith("error: not_found: ")


def test_the_command_line_knows_the_statuses() -> None:
    """What `--status` takes is what the store takes."""
    assert get_args(JobStatus) == jobs.STATUSES
