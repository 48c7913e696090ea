"""Pages for people: the board, parked work, and the operator's desk."""
