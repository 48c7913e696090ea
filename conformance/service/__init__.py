"""The tests that only a service can pass: what it answers over HTTP, and to whom."""
