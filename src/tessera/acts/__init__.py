"""Verbs that take several transactions: generators of steps, driven the same by threads and event loops."""
