"""Small programs to start from. Each runs by itself: `python examples/hello.py`."""
