"""The verbs as tools for a language model, over MCP: which there are, what each says of itself, how arguments
become a request and an answer becomes a result. The service and the command line serve the same ones.
"""
