"""`tessera openapi`: the HTTP interface as a document for programs."""

from __future__ import annotations

import click


@click.command()
def openapi() -> None:
    """Print the description of the HTTP interface: OpenAPI 3.1, as JSON. A service gives the same at
    /openapi.json, and for people at /docs.

    \b
    Example:
      tessera openapi > openapi.json
    """
    from tessera.service.openapi import document

    click.echo(document.text(), nl=False)
