"""`tessera serve`: the store for everybody with a key."""

from __future__ import annotations

from typing import Any

import click

from tessera.errors import InvalidRequest


@click.command()
@click.option(
    "--store",
    metavar="URL",
    help="A file, or postgresql://host/database.  [env var: TESSERA_STORE; default: ./tessera.db]",
)
@click.option("--host", metavar="ADDRESS", help="[env var: TESSERA_HOST; default: 127.0.0.1]")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    metavar="N",
    help="0: any free one.  [env var: TESSERA_PORT; default: 8787]",
)
@click.option("--tls-cert", metavar="FILE", help="A certificate (PEM), to serve HTTPS.")
@click.option("--tls-key", metavar="FILE", help="Its key (PEM).")
@click.option("--insecure", is_flag=True, help="Serve an address that others can reach without protection.")
def serve(tls_cert: str | None, tls_key: str | None, insecure: bool, **given: Any) -> None:
    """Serve the store over HTTP until SIGTERM. Prints the URL once it answers; the log goes to stderr.

    \b
    Example:
      tessera serve
      tessera serve --host 0.0.0.0 --tls-cert fullchain.pem --tls-key privkey.pem

    More settings come from the environment; docs/guides/service.md lists them.
    """
    from tessera import app
    from tessera.cli.serve_figures import of_wakes

    if (tls_cert is None) != (tls_key is None):
        raise InvalidRequest("--tls-cert and --tls-key go together")
    files = None if tls_cert is None or tls_key is None else (tls_cert, tls_key)
    app.serve(started=click.echo, tls=files, insecure=insecure, beside=[of_wakes], **given)
