"""The conformance suite: what every backend of Tessera must do, as a specification and as tests of it."""
