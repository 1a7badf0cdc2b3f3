"""Renders the documents: WALKTHROUGH.md, the sequence diagram, and the script as JSON.

Pure: what is rendered depends on the arguments and the templates alone, so two renders are the same bytes. It plays
nothing and knows no file but the templates; `demo.documents` reads and writes. What a step amounts to in a document is
worked out in `demo.parts`, how text is made safe for its target in `demo.escapes`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jinja2

from demo.arrows import Arrow, scripted, scripted_scene
from demo.cast import CAST, DEFAULT_URL
from demo.escapes import anchor, cell, code, fenced, in_diagram, in_html, prose
from demo.parts import Part, parts_of, scene_parts
from demo.recording import Recording, require_scripted
from demo.scene import Exchange, Ref, Scene, Step, Wire
from demo.script import INTRODUCTION, TITLE

__all__ = ["CLOSING_TITLE", "Play", "RosterRow", "diagram", "script_json", "walkthrough"]

CLOSING_TITLE: Final = "Afterwards"
WIRES: Final[tuple[Wire, ...]] = ("session", "stateless")


@dataclass(frozen=True)
class Play:
    """What is told: the scenes, and the steps that follow the last one."""

    scenes: Sequence[Scene]
    closing: Sequence[Step]


@dataclass(frozen=True)
class RosterRow:
    """An agent, its tools, and what each of the cast may do with it, in the cast's order."""

    agent: str
    tools: tuple[str, ...]
    access: tuple[str, ...]


@dataclass(frozen=True)
class _Act:
    """A heading of the diagram and the arrows under it."""

    title: str
    arrows: tuple[Arrow, ...]


def diagram(play: Play, wire: Wire, templates: Path) -> str:
    """The mermaid `sequenceDiagram` of one wire, with a line break at the end."""
    acts = [_Act(f"{scene.number}. {scene.title}", scripted_scene(scene, wire)) for scene in play.scenes]
    farewell = tuple(arrow for step in play.closing for arrow in scripted(step, wire))
    if farewell:
        acts.append(_Act(CLOSING_TITLE, farewell))
    return _environment(templates).get_template("sequence.mmd.jinja").render(acts=acts)


def walkthrough(play: Play, recordings: Mapping[Wire, Recording], roster: Sequence[RosterRow], templates: Path) -> str:
    """WALKTHROUGH.md as text.

    Raises:
        UnusableRecording: a recording does not tell what the script tells.
        jinja2.TemplateError: a template names something that is not there.
    """
    for wire in WIRES:
        require_scripted(recordings[wire], play.scenes, play.closing)
    template = _environment(templates).get_template("walkthrough.md.jinja")
    return template.render(
        title=TITLE,
        introduction=INTRODUCTION,
        url=DEFAULT_URL,
        cast=CAST,
        roster=roster,
        scenes=play.scenes,
        diagrams={wire: diagram(play, wire, templates) for wire in WIRES},
        parts={
            (wire, scene.number): scene_parts(scene, recordings[wire].scene(scene.number), wire)
            for wire in WIRES
            for scene in play.scenes
        },
        closing_title=CLOSING_TITLE,
        closing={wire: _closing_parts(play.closing, recordings[wire]) for wire in WIRES},
    )


def _closing_parts(closing: Sequence[Step], recording: Recording) -> tuple[Part, ...]:
    drawn = [step for step in closing if scripted(step, recording.wire)]
    return tuple(
        part
        for step in drawn
        for part in parts_of(step, recording.farewell(str(getattr(step, "key", ""))), recording.wire)
    )


def _environment(templates: Path) -> jinja2.Environment:
    # Markdown and mermaid are no HTML: each value is escaped for its target by the filter that the template names.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        newline_sequence="\n",
    )
    for filter_ in (anchor, cell, code, fenced, in_diagram, in_html, prose):
        environment.filters[filter_.__name__] = _of_text(filter_)
    return environment


def _of_text(filter_: Callable[..., str]) -> Callable[..., str]:
    """The filter over texts only: an undefined value fails as such, with its name, before the filter sees it."""
    return lambda value, *arguments: filter_(str(value), *arguments)


# The script as data


def script_json(play: Play) -> str:
    """The script as JSON text: scenes with their prose, steps, the arrows of both wires and the checks' titles."""
    data = {
        "title": TITLE,
        "introduction": INTRODUCTION,
        "scenes": [_scene_data(scene) for scene in play.scenes],
        "closing": [_step_data(step) for step in play.closing],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _scene_data(scene: Scene) -> dict[str, Any]:
    return {
        "number": scene.number,
        "title": scene.title,
        "lesson": scene.lesson,
        "note": scene.note.split("\n\n"),
        "steps": [_step_data(step) for step in scene.steps],
        "cleanup": [_step_data(step) for step in scene.cleanup],
        "checks": [check.title for check in scene.checks],
        "code": list(scene.code),
    }


def _step_data(step: Step) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": type(step).__name__.lower()}
    for member in ("key", "title", "method", "name"):
        if hasattr(step, member):
            data[member] = getattr(step, member)
    if (caller := getattr(step, "caller", None)) is not None:
        data["caller"] = caller.name
    if isinstance(step, Exchange):
        data["params"] = _plain(step.params or {})
    arrows = {wire: [[arrow.direction, arrow.label] for arrow in scripted(step, wire)] for wire in WIRES}
    return {**data, "arrows": arrows}


def _plain(value: Any) -> Any:
    match value:
        case Ref(key=key, path=path):
            return {"$from": {"step": key, "path": list(path)}}
        case Mapping():
            return {name: _plain(item) for name, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value
