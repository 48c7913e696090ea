"""`nouns` and `reflex`: found, looked at, read in parts, learned and recalled."""

from __future__ import annotations


def test_search_show_and_read(cli, store) -> None:
    """A hit shows ref, score, title and summary; show tells versions, read prints a part and how to go on."""
    store.put_object("nouns", "k.md", b"# Signing keys\n\nRotate them monthly.", content_type="text/markdown")
    store.put_record("facts", "k", {"title": "Keys", "n": 1})
    said = cli("nouns", "search", "rotate keys").stdout
    assert said.splitlines()[0] == "nouns/k.md  bucket  1.00  Signing keys  (36 bytes)"
    assert "    Rotate them monthly." in said
    assert "facts/k" in said
    assert "Nothing has these words." in cli("nouns", "search", "zebra").stdout
    only = cli.json("nouns", "search", "keys", "--among", "facts", "--limit", "5")["nouns"]
    assert [one["ref"] for one in only] == ["facts/k"]
    assert cli.json("nouns", "search", "keys", "--bucket", "nouns")["nouns"][0]["bucket"] == "nouns"

    assert "facts/k  store  " in cli("nouns", "search", "keys").stdout
    assert "buckets define" in cli("nouns", "search", "keys", "--bucket", "nosuch", code=1).stderr

    said = cli("nouns", "show", "nouns/k.md").stdout
    assert "text/markdown" in said
    assert "36 bytes" in said
    assert cli.json("nouns", "show", "facts/k", "--home", "store")["versions"][0]["version"] == 1
    said = cli("nouns", "read", "nouns/k.md", "--first", "2", "--length", "7")
    assert (said.stdout, said.stderr) == ("Signing\n", "More: --first 9\n")
    assert cli("nouns", "read", "facts/k", "--version", "1").stdout == '{"n":1,"title":"Keys"}\n'
    assert "not_found" in cli("nouns", "show", "facts/absent", code=1).stderr
    assert "ref:" in cli("nouns", "read", "facts", code=1).stderr


def test_what_is_found_cannot_drive_a_terminal(cli, store) -> None:
    """Control characters of a title or a text are not printed as such."""
    store.put_record("s", "k", {"title": "bell \x07 \x1b[2J", "body": "found\x1b]0;x\x07"})
    for said in (cli("nouns", "search", "found").stdout, cli("nouns", "read", "s/k").stdout):
        assert "\x1b" not in said
        assert "\x07" not in said


def test_learn_and_match(cli, store) -> None:
    """A step that was learned is recalled, exactly or nearly; a dead end is told under it."""
    assert "Nothing was learned" in cli("reflex", "match", "rotate keys").stdout
    cli("reflex", "learn", "rotate", "rotate the signing keys", '{"run": "make rotate"}')
    said = cli("reflex", "match", "Rotate the signing keys").stdout
    assert "exact" in said
    assert '{"run":"make rotate"}' in said
    store.define_queue("q", max_attempts=1)
    store.enqueue(queue="q", kind="rotate", brief={})
    store.submit(store.claim("q", "w").task_id, 1, None, "i", ok=False, error="no such key")
    said = cli("reflex", "match", "rotate").stdout
    assert "Given up before:" in said
    assert "no such key" in said
    assert cli.json("reflex", "match", "rotate", "--limit", "1")["warnings"][0]["score"] == 1
    cli("reflex", "learn", "rotate", "rotate", "2", "--expected-version", "1")
    assert cli.json("reflex", "match", "rotate")["matches"][0]["step"] == 2
    assert "TRIGGER" in cli("reflex", "learn", "empty", " ", "1", code=1).stderr
    assert "version_conflict" in cli("reflex", "learn", "rotate", "x", "1", code=1).stderr
