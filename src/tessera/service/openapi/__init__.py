"""The description of the HTTP interface, as OpenAPI 3.1, made from the surface, the models and the errors."""
