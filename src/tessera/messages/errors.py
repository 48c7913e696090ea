"""What this room refuses beside the house's own words: each says whether anything was changed."""

from __future__ import annotations

from tessera.errors import TesseraError


class LedgerDamaged(TesseraError):
    """Something in an agent's message state is missing, extra, substituted, corrupt or unreadable."""

    code, status, title, definite = "ledger_damaged", 409, "Ledger damaged", True


class MessageCollision(TesseraError):
    """The place for this message holds other bytes."""

    code, status, title = "message_collision", 409, "Message collision"


class PendingStuck(TesseraError):
    """An interrupted message cannot be finished, and holds up every later one of its sender."""

    code, status, title, definite = "pending_stuck", 409, "Pending message stuck", True


class IncompleteCoverage(TesseraError):
    """The sent ledger cannot vouch for a complete count."""

    code, status, title, definite = "incomplete_coverage", 409, "Incomplete coverage", True


class AmbiguousAgent(TesseraError):
    """More than one agent answers to this name."""

    code, status, title, definite = "ambiguous_agent", 409, "Ambiguous agent", True


class Unattributed(TesseraError):
    """Nobody can say which agent a historical address meant."""

    code, status, title, definite = "unattributed", 409, "Unattributed address", True


KINDS: tuple[type[TesseraError], ...] = (
    LedgerDamaged, MessageCollision, PendingStuck, IncompleteCoverage, AmbiguousAgent, Unattributed,
)  # fmt: skip
