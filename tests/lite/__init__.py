"""Lite claims: the log, its messages and proofs."""
