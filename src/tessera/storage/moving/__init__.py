"""Both ends of moving a whole store from one engine to another: where it comes from, where it goes."""
