"""The library as whoever imports it meets it: names, help, types, and a store that belongs to its process."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
from pathlib import Path
from typing import Any

import pytest

import tessera
from tessera import models
from tessera.errors import REGISTRY, InvalidRequest, TesseraError
from tessera.library import Tessera, fields


def test_a_path_names_a_store(tmp_path: Path) -> None:
    """A path object opens a store as its text does, also for its upkeep; what names none is refused."""
    path = tmp_path / "store.db"
    with tessera.open(path) as store:
        store.define_queue("q")
        store.backup(tmp_path / "backup.db")
    tessera.restore(tmp_path / "backup.db", tmp_path / "again.db")
    assert tessera.doctor(tmp_path / "again.db").ok
    with tessera.open(str(tmp_path / "again.db")) as store:
        assert [queue.name for queue in store.queues()] == ["q"]
    odd: Any = 5
    with pytest.raises(InvalidRequest, match="named by a path or a URL, not by: int"):
        tessera.open(odd)
    with pytest.raises(InvalidRequest, match="names no file"):
        tessera.open("sqlite:///")


def test_help_shows_what_is_public() -> None:
    """`help(tessera)` and `dir(tessera)` have every public name, though each is loaded when it is used."""
    assert dir(tessera) == sorted(tessera.__all__)
    text = pydoc.plain(pydoc.render_doc(tessera))
    for name in set(tessera.__all__) - {"__version__"}:
        assert f" {name}(" in text or f"class {name}" in text, name


def test_every_public_name_says_what_it_is() -> None:
    """Public names, and every method of a store, have a docstring of their own."""
    shown = [getattr(tessera, name) for name in tessera.__all__ if name != "__version__"]
    methods = [method for name, method in inspect.getmembers(Tessera) if not name.startswith("_")]
    assert len(methods) > 70
    assert [one for one in [*shown, *methods] if not inspect.getdoc(one)] == []


@pytest.mark.parametrize(
    ("named", "model", "apart"),
    [
        (fields.QueueSettings, models.DefineQueue, {"name"}),
        (fields.TaskFields, models.TaskSpec, set()),
        (fields.LiteTaskFields, models.LiteTaskSpec, set()),
        (fields.GrantFields, models.ApprovalBody, set()),
        (fields.KeyFields, models.IssueKeyBody, set()),
    ],
)
def test_named_fields_are_those_of_the_model(named: Any, model: Any, apart: set[str]) -> None:
    """What a type checker lets through by name is what the model has, and nothing else."""
    assert named.__annotations__.keys() | apart == set(model.__struct_fields__)


@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_an_open_store_stays_where_it_is(tmp_path: Path, take: Any) -> None:
    """A store is neither pickled nor copied: both would share what belongs to one process."""
    with tessera.open(tmp_path / "store.db") as store, pytest.raises(TypeError, match="open it again"):
        take(store)


def test_a_refusal_says_one_line_by_default() -> None:
    """Without a detail of its own a refusal says the first line of what it is."""
    for kind in {TesseraError, *REGISTRY.values()}:
        assert kind().detail
        assert "\n" not in kind().detail
    assert TesseraError().detail == "Something unforeseen happened."
