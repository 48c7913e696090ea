"""Files that take long, the longest first. Processes that share a run begin with them, so that none is left
alone with one at the end; within a file the order stays.
"""

from __future__ import annotations

LONG_ONES = (
    "crash/test_crash.py", "verbs/test_every_verb.py", "upkeep/test_deaths.py", "test_pasted.py",
    "cases/test_wake_terminals.py", "service/openapi/test_schemathesis.py", "model/test_model.py",
    "browser/test_pages.py", "wake/test_crash.py", "upkeep/test_verify.py", "powercut/test_power_cut.py",
    "model/test_records.py", "cases/test_wake_service.py", "service/test_mcp_errors.py",
    "service/test_surface.py", "storage/test_flipped_bits.py", "upkeep/test_moving.py",
    "verbs/test_weights.py", "chaos/test_storm.py", "lite/test_crash.py", "service/test_lifecycle.py",
    "examples/test_demo.py", "wake/test_commands.py", "wake/test_tmux.py", "service/test_mcp.py",
    "service/openapi/test_openapi.py", "upkeep/test_restore.py", "test_conformance_tools.py",
    "examples/test_small.py", "race/test_opening.py", "model/test_files.py", "chaos/test_failover.py",
    "messages/test_power_cut.py", "service/test_overload.py", "powercut/test_files.py",
)  # fmt: skip
