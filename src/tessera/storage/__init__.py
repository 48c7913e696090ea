"""The store: the port that verbs see, the statement catalogue, and the engines behind it."""
