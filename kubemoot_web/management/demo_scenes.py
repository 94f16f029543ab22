"""The play of `up --demo`: which agents want something in which scene. The scenes repeat.

Four models want memory that never holds more than three of them, so that there is always something to decide.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one crew does over and over in a scene: its coordinator selects agents, they call, it pauses.

    Without selection an agent just calls, so that nothing is held for it beforehand; a job does so in the background.
    """

    crew: str
    agents: tuple[str, ...]
    pause_s: float
    begins_after_s: float = 0.0
    is_selected: bool = True
    is_job: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Who is busy for a while. What has begun is finished before the next scene."""

    name: str
    lasts_s: float
    parts: tuple[Part, ...]


ANALYST, RESEARCHER = "default/analyst", "default/researcher"
RULES_KEEPER, SCOUT = "default/rules-keeper", "default/scout"
ARCHIVIST = "default/archivist"

SCENES = (
    Scene(
        name="both crews talk, and the archive is summed up in the background",
        lasts_s=40,
        parts=(
            Part(crew="lab", agents=(ANALYST, RESEARCHER), pause_s=4.0),
            Part(crew="studio", agents=(RULES_KEEPER, SCOUT), pause_s=6.0, begins_after_s=1.0),
            Part(crew="lab", agents=(ANALYST,), pause_s=7.0, begins_after_s=6.0, is_selected=False),
            Part(crew="archive", agents=(ARCHIVIST,), pause_s=6.0, begins_after_s=12.0, is_selected=False, is_job=True),
        ),
    ),
    Scene(
        name="the lab digs: two discussions want the one slot of the large model",
        lasts_s=25,
        parts=(
            Part(crew="lab", agents=(RESEARCHER, ANALYST), pause_s=1.0),
            Part(crew="lab", agents=(RESEARCHER,), pause_s=2.0, begins_after_s=1.0, is_selected=False),
            Part(crew="studio", agents=(RULES_KEEPER, SCOUT), pause_s=2.0),
        ),
    ),
    Scene(
        name="rush: nobody pauses, so the archive waits until a server is drained for it",
        lasts_s=45,
        parts=(
            Part(crew="lab", agents=(RESEARCHER, ANALYST), pause_s=0.0),
            Part(crew="lab", agents=(RESEARCHER,), pause_s=0.0, is_selected=False),
            Part(crew="studio", agents=(RULES_KEEPER, SCOUT), pause_s=0.0),
            Part(crew="studio", agents=(RULES_KEEPER,), pause_s=0.0, begins_after_s=2.0, is_selected=False),
            Part(crew="studio", agents=(SCOUT,), pause_s=0.0, begins_after_s=2.0, is_selected=False),
            Part(crew="archive", agents=(ARCHIVIST,), pause_s=10.0, begins_after_s=1.0, is_selected=False, is_job=True),
        ),
    ),
)
