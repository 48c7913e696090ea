"""What several verbs share inside a transaction."""
