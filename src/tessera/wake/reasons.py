"""Why a wake waits or an attempt failed: each word that a receipt may carry, and what it means to a person.

The guide's table is made from here. A reason may go on after a colon with what the system said of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tessera.wake import states

# word -> what it means, and what to do where something can be done
SENTENCES: Final[dict[str, str]] = {
    states.USER_TYPING: "Somebody is typing there; it is looked at again once the keys are quiet.",
    states.DRAFT: "Something that nobody sent stands in the composer: send it or clear it.",
    "dialog": "The program asks a question there: answer it.",
    "blocked": "The agent's hook says that it waits for somebody's answer.",
    "no_prompt": "No prompt mark at the cursor; `wake attach --promptless` is for programs without one.",
    "not_at_prompt": "The cursor stands in other text than a prompt: the program is probably busy.",
    "line_mode": "The program reads plain lines, with no composer: start it with `wake run --plain`.",
    "no_bracketed_paste": "The program asks for no bracketed paste: start it with `wake run --plain`.",
    "output_waits": "The program has not read yet what was typed before.",
    "another_wake": "Another wake is being typed there.",
    "too_long_for_one_line": "Too long for one line; `wake attach --bracketed` if the program takes pastes.",
    "shell_in_front": "A shell in the pane would run the wake; `wake attach --allow-shell` allows it.",
    "pane_in_mode": "The pane is in copy mode or a chooser: leave it with q.",
    "pane_input_off": "The pane takes no input: turn it on with `tmux select-pane -e`.",
    "pane_dead": "The pane's program has ended.",
    "pane_changed": "Another program or server took the pane's place just before the paste.",
    "pane_changed_before_enter": "The pane changed after the paste, so Enter was not pressed.",
    "tmux_timeout": "The tmux server does not answer.",
    "not_connected": "The terminal's `wake run` has no connection to the service now.",
    "wrapper_silent": "The terminal's `wake run` did not answer in time.",
    "wrapper_unclear": "The terminal's `wake run` answered with something that this service does not know.",
    "service_restarted": "The service was started anew and has not looked at the endpoint yet.",
    "stale": "The endpoint is away and may come back.",
    "folder_missing": "The folder of the endpoint's file is not there.",
    "not_a_file": "The endpoint's file is no regular file.",
    "cannot look at it": "The endpoint's file cannot be looked at.",
    "cannot append": "The endpoint's file cannot be written to.",
    "owner_ended": "The process that the endpoint lived with has ended.",
    "command_exit": "The endpoint's command failed; its exit code and what it said follow.",
    "command_timeout": "The endpoint's command did not end in time.",
    "command_not_run": "The endpoint's command could not be started.",
    "already_queued": "The agent's queue has it from an earlier attempt.",
    "draft_before_wake": "Something stood in the composer before the wake, so Enter was not pressed.",
    "composer_not_proven": "The composer did not show the wake after the paste, so Enter was not pressed.",
    "enter_not_taken": "Enter was pressed, and the wake still stands in the composer.",
    "write_timeout": "Typing it took too long, so Enter was not pressed.",
    "lease_lost": "The attempt had run out before its end; another one follows.",
    "lease_expired": "The attempt did not end in its time, or the service was stopped during it.",
    "ack_timeout": "It was written, and no acknowledgement came in time.",
    states.NOT_READY: "The endpoint could not take it after all; nothing was typed.",
    states.STAGED: "The text may stand in the composer, without its Enter.",
    states.LOST: "The endpoint is gone.",
    "endpoint_gone": "The endpoint has ended: send again once there is another.",
    "endpoint_detached": "The endpoint was detached: send again once there is another.",
    "endpoint_replaced": "Another endpoint took its name: send again to reach that one.",
    "target_unreadable": "The endpoint's registration cannot be read: attach it anew.",
    "did_not_come_back": "The endpoint was away for too long.",
}
_EXIT_CODE: Final = re.compile(r"^(command_exit)_-?[0-9]+$")


def word(reason: str) -> str:
    """A reason's own word, without what the system said of it."""
    return _EXIT_CODE.sub(r"\1", reason.split(": ", 1)[0])


def explained(reason: str) -> str:
    """A reason with its sentence. What is no word of the table, such as tmux's own text, stands as it is."""
    sentence = SENTENCES.get(word(reason))
    return reason if sentence is None else f"{reason}. {sentence}"


def why(message: Mapping[str, Any]) -> str | None:
    """The reason that a receipt gives for not being delivered; None where there is none."""
    if message["state"] not in (states.PENDING, states.AWAITING_ACK, states.FAILED):
        return None
    reason: str | None = message["deferred_reason"] or message["last_failure_reason"]
    return reason
