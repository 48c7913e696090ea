"""What the commands share: the store, the two ways to print an answer, and the kinds of argument."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final

import click

from tessera.cli.text import json_value
from tessera.limits import PAGE_DEFAULT, PAGE_MAX
from tessera.names import EFFECT_CLASSES, SCOPES

Body = Callable[..., None]


def takes_store(body: Body) -> Body:
    """Add `--store` and `--key-file`; the command gets the open store as its first argument and need not
    close it. A file that is not there is refused: a mistyped name would look like an empty store.
    """
    return _with_store(body, makes=False)


def makes_store(body: Body) -> Body:
    """The same for what may be the first thing ever done with a store: it is made if it is not there."""
    return _with_store(body, makes=True)


def _with_store(body: Body, *, makes: bool) -> Body:
    @click.option(
        "--key-file", envvar="TESSERA_KEY_FILE", metavar="FILE", type=click.Path(exists=True, dir_okay=False),
        help="Act under the key that this file holds.",
    )  # fmt: skip
    @takes_url
    @functools.wraps(body)
    def command(url: str, *args: Any, key_file: str | None, **options: Any) -> None:
        import tessera
        from tessera.app import existing
        from tessera.store_urls import is_service

        if not makes and not is_service(url):
            existing(url)
        with tessera.open(url, key=key_file and _content(key_file).strip()) as store:
            body(store, *args, **options)

    return command


def takes_url(body: Body) -> Body:
    """Add `--store`; the command gets its URL as its first argument, and opens nothing."""

    @click.option(
        "--store", "url", default="./tessera.db", envvar="TESSERA_STORE", metavar="URL", show_default=True,
        show_envvar=True,
        help="The store: a path, postgresql://host/database, or a service (key: TESSERA_KEY).",
    )  # fmt: skip
    @functools.wraps(body)
    def command(*args: Any, url: str, **options: Any) -> None:
        body(url, *args, **options)

    return command


def prints(body: Body) -> Body:
    """Add `--json`; the command gets `say`, which prints an answer the way that was asked for."""

    @click.option("--json", "as_json", is_flag=True, help="Print JSON, as it travels on the wire.")
    @functools.wraps(body)
    def command(*args: Any, as_json: bool, **options: Any) -> None:
        body(*args, say=_say_json if as_json else _say, **options)

    return command


def _say_json(answer: object, wire: object = None) -> None:
    import msgspec

    click.echo(msgspec.json.encode(answer if wire is None else wire))


def _say(answer: object, wire: object = None) -> None:
    from tessera.cli import show

    show.show(answer)


class Document(click.ParamType[Any]):
    """JSON given in place, as `@file`, or as `-` for standard input."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The document as a Python value; anything but one JSON document is wrong usage."""
        try:
            return self._value(self._text(value))
        except OSError as error:
            self.fail(f"cannot read {error.filename or value}: {error.strerror}", param, ctx)
        except UnicodeDecodeError:
            self.fail("not UTF-8", param, ctx)
        except RecursionError:
            self.fail("not JSON: nested too deeply", param, ctx)
        except ValueError as error:
            self.fail(f"not JSON: {error}", param, ctx)

    def _text(self, value: str) -> str:
        if value != "-" and not value.startswith("@"):
            return value
        return _content(value.removeprefix("@"))

    def _value(self, text: str) -> Any:
        return json_value(text)


class Documents(Document):
    """The file (or `@file`, or `-`, standard input) that holds several JSON documents: one array, or one a
    line.
    """

    name = "file"

    def _text(self, value: str) -> str:
        return _content(value.removeprefix("@"))

    def _value(self, text: str) -> Any:
        if text.lstrip(" \t\r\n").startswith("["):
            return json_value(text)
        lines = enumerate(text.split("\n"), start=1)  # a line feed and no other character ends a line
        return [_value_of(line, number) for number, line in lines if line.strip(" \t\r")]


def _content(name: str) -> str:
    with click.open_file(name, "rb") as file:
        return bytes(file.read()).decode()


def _value_of(line: str, number: int) -> Any:
    try:
        return json_value(line)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from error


class Amount(click.FloatRange):
    """A number of something. Infinity and NaN pass every comparison, so they are refused by name."""

    unit = "things"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """A finite number within the range."""
        amount = float(super().convert(value, param, ctx))
        if not math.isfinite(amount):
            self.fail(f"not a finite number of {self.unit}", param, ctx)
        return amount


class Seconds(Amount):
    """A duration."""

    name = unit = "seconds"


class Dollars(Amount):
    """A cost."""

    name = unit = "dollars"


DOCUMENT: Final = Document()
DOCUMENTS: Final = Documents()
SECONDS: Final = Seconds(min=0)
EFFECT: Final = click.Choice(EFFECT_CLASSES)

queue = click.argument("queue")
queues = click.argument("queues", metavar="QUEUE...", nargs=-1, required=True)
task = click.argument("task_id", metavar="TASK")
token = click.argument("fencing_token", metavar="TOKEN", type=int)
worker = click.option("--worker", required=True, metavar="NAME", help="Who works, as the log will show it.")
kinds = click.option(
    "--kind", "kinds", multiple=True, metavar="KIND", help="Take only this kind; may be repeated."
)


def paged(of: str, cursor: str, most: int = PAGE_MAX) -> Callable[[Body], Body]:
    """Add `--limit` and `--after`, as every command has them that lists a page. The cursor N is a number."""
    number: dict[str, Any] = {"type": int, "default": 0} if cursor == "N" else {}

    def add(body: Body) -> Body:
        after = click.option("--after", metavar=cursor, help=f"The page after this {of}.", **number)
        limit = click.option(
            "--limit", type=int, metavar="N", default=PAGE_DEFAULT, show_default=True,
            help=f"How many, at most {most}.",
        )  # fmt: skip
        return limit(after(body))

    return add


_GRANT: Final[list[Callable[[Body], Body]]] = [
    click.option("--queue", "queues", multiple=True, metavar="QUEUE",
                 help="A queue it covers; may be repeated. Left out: all."),
    click.option("--kind", "kinds", multiple=True, metavar="KIND",
                 help="A kind it covers; may be repeated. Left out: all."),
    click.option("--effect", "effect_classes", multiple=True, type=EFFECT,
                 help="An effect class it holds; may be repeated. Left out: read."),
    click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES),
                 help="A right beyond tasks; may be repeated."),
    click.option("--workspace", "workspace_id", metavar="WS",
                 help="The workspace of an agent's key, one with the scope agent:runtime."),
    click.option("--days", type=int, help="How many days it lives, 1 to 14. Left out: 14."),
]  # fmt: skip


def grant(body: Body) -> Body:
    """Add the options that say what a key may do."""
    for option in reversed(_GRANT):
        body = option(body)
    return body


def given(**fields: Any) -> dict[str, Any]:
    """The fields that somebody gave; what was left out gets the model's own default."""
    return {name: value for name, value in fields.items() if value is not None and value != ()}
