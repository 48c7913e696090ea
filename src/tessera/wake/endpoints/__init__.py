"""The kinds of place a wake can be written to, behind one protocol: `port.py`."""
