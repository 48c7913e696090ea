"""A swarm of processes studies the Python standard library: `python -m examples.stdlib_swarm`.

Read `work.py` first (what is done for each kind of task), then `worker.py` (how a process carries it out),
then `__main__.py` (who starts it all).
"""
