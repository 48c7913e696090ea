"""Which scenarios of the conformance suite apply to a service of seven tools, and why the others do not."""

from __future__ import annotations

from typing import Final

HANDSHAKE: Final = "2025-11-25"
STATELESS: Final = "2026-07-28"

_FIXTURE: Final = "wants a tool that servers have only for this suite"
_NO_PROMPTS: Final = "there are no prompts"
_NO_RESOURCES: Final = "there are no resources"

# Revision -> scenario -> the checks in it that cannot pass here, each with the reason.
APPLY: Final[dict[str, dict[str, dict[str, str]]]] = {
    HANDSHAKE: {"server-initialize": {}, "ping": {}, "tools-list": {}, "dns-rebinding-protection": {}},
    STATELESS: {
        "tools-list": {},
        "dns-rebinding-protection": {},
        "http-header-validation": {},
        "server-sse-multiple-streams": {},
        "input-required-result-unsupported-methods": {},
        "server-stateless": {
            "sep-2575-server-rejects-undeclared-capability": _FIXTURE,
            "sep-2575-missing-capability-http-400": _FIXTURE,
            "sep-2575-http-server-no-independent-requests-on-stream": _FIXTURE,
            "sep-2575-server-no-log-without-loglevel": _FIXTURE,
        },
        "caching": {
            "sep-2549-prompts-list-caching-hints": _NO_PROMPTS,
            "sep-2549-resources-list-caching-hints": _NO_RESOURCES,
            "sep-2549-resources-templates-list-caching-hints": _NO_RESOURCES,
        },
    },
}

# The beginnings of the names of all others.
DO_NOT: Final[dict[str, str]] = {
    "completion-": "nothing is completed: arguments are the caller's own",
    "elicitation-": _FIXTURE,
    "http-custom-header-": _FIXTURE,
    "input-required-result-": _FIXTURE,
    "json-schema-": _FIXTURE,
    "logging-": "the log belongs to the service's operator",
    "prompts-": _NO_PROMPTS,
    "resources-": _NO_RESOURCES,
    "sep-2164-": _NO_RESOURCES,
    "sep-2640-": "an extension that is not offered: skills",
    "server-session-lifecycle": "there are no sessions: each message stands alone",
    "server-sse-polling": "there are no streams: each answer is one document",
    "tasks-": "an extension that is not offered: a task here is Tessera's own",
    "tools-call-": _FIXTURE,
}


def applies_not(scenario: str) -> bool:
    """Whether there is a reason why a scenario does not apply."""
    return any(scenario.startswith(beginning) for beginning in DO_NOT)
