"""Every claim of speed, as a script. Run one with `python -m benchmarks.NAME`."""
