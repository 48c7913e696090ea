"""One verb, one function. (Specification §5.)"""
