"""What statements answer with: one struct per kind of row, its fields the statement's columns in order.

A block in `storage/sql/` names its struct (`-- row: TaskRow`); every engine compares columns with fields when
it prepares the statement. Times are microseconds since 1970. States, effects and event types are numbers:
positions in the tuples of `states.py` and `names.py`.
"""

from tessera.rows.base import OptionalText, Row, Scalar, Text
from tessera.rows.blobs import BlobRow, BucketRow, ChunkRow, ObjectRow, UploadRow
from tessera.rows.pages import EdgeRow, EventMark, ParkedRow, Relative
from tessera.rows.queue import (
    ApprovalRow,
    BriefRow,
    CountsRow,
    Descendant,
    EventRow,
    HealthRow,
    HeldBack,
    InputRow,
    JobRow,
    KeyRow,
    NamedTask,
    OutcomeRow,
    QueueRow,
    ResultRow,
    RunningJobs,
    StandingRow,
    TaskRow,
)
from tessera.rows.recall import FoundNoun, Left, NounRow, ReflexRow, SliceRow, VersionRow
from tessera.rows.records import FeedItemRow, FeedRow, RecordHeadRow, RecordRow
from tessera.rows.topics import TopicMessageRow, TopicRow
from tessera.rows.upkeep import (
    BlobSizes,
    BriefToCheck,
    EventToCheck,
    Late,
    Numbers,
    RestoreSizes,
    ResultToCheck,
    Sizes,
    TaskToCheck,
    Wrong,
)

__all__ = [
    "ApprovalRow",
    "BlobRow",
    "BlobSizes",
    "BriefRow",
    "BriefToCheck",
    "BucketRow",
    "ChunkRow",
    "CountsRow",
    "Descendant",
    "EdgeRow",
    "EventMark",
    "EventRow",
    "EventToCheck",
    "FeedItemRow",
    "FeedRow",
    "FoundNoun",
    "HealthRow",
    "HeldBack",
    "InputRow",
    "JobRow",
    "KeyRow",
    "Late",
    "Left",
    "NamedTask",
    "NounRow",
    "Numbers",
    "ObjectRow",
    "OptionalText",
    "OutcomeRow",
    "ParkedRow",
    "QueueRow",
    "RecordHeadRow",
    "RecordRow",
    "ReflexRow",
    "Relative",
    "RestoreSizes",
    "ResultRow",
    "ResultToCheck",
    "Row",
    "RunningJobs",
    "Scalar",
    "Sizes",
    "SliceRow",
    "StandingRow",
    "TaskRow",
    "TaskToCheck",
    "Text",
    "TopicMessageRow",
    "TopicRow",
    "UploadRow",
    "VersionRow",
    "Wrong",
]
