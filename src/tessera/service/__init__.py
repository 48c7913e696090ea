"""The HTTP service: one dispatcher over the surface, and what keeps it fair, quiet and private."""
