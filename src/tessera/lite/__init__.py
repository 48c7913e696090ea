"""Lite claims: claim-next, decided by an ordered log that anybody can check. See this folder's README.md."""
