"""A swarm of coding agents on one repository. Run it: `python -m examples.coding_swarm`."""
