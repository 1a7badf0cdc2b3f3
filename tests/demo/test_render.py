"""Rendering: pure, strict, safe for its target; and the diagram, which shows what really travels."""

import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import jinja2
import pytest

from demo.arrows import Arrow, scripted, scripted_scene
from demo.cast import CAST
from demo.documents import PLACES, roster_rows
from demo.escapes import anchor, cell, code, fenced, in_diagram, prose
from demo.events import Travelled
from demo.recording import Recording
from demo.render import WIRES, Play, RosterRow, diagram, script_json, walkthrough
from demo.scene import Exchange, Result, Scene, Wire
from demo.script import CLOSING, SCENES
from demo.stage import Stage
from server.embedded import RunningServer, running_server

PLAY = Play(SCENES, CLOSING)


@pytest.fixture(scope="module")
def recordings() -> dict[Wire, Recording]:
    return {wire: Recording.from_json(PLACES.recording(wire).read_text(encoding="utf-8")) for wire in WIRES}


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PLACES.templates, tmp_path / "templates"))


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server() as running:
        yield running


def arrows_in(mermaid: str) -> list[Arrow]:
    """The arrows, read back off the diagram's text."""
    found = re.findall(r"^    (Host->>Server|Server-->>Host): (.*)$", mermaid, re.MULTILINE)
    unescaped = [(way, re.sub(r"#(\d+);", lambda number: chr(int(number[1])), label)) for way, label in found]
    return [Arrow("->>" if way.startswith("Host") else "-->>", label) for way, label in unescaped]


@pytest.mark.parametrize("wire", WIRES)
def test_the_diagram_shows_the_frames_that_really_travel(wire: Wire, server: RunningServer) -> None:
    async def travelled() -> list[Arrow]:
        stage = Stage(server.url, wire=wire)
        return [event.arrow async for event in stage.play(SCENES) if isinstance(event, Travelled)]

    told = [arrow for scene in SCENES for arrow in scripted_scene(scene, wire)]
    told += [arrow for step in CLOSING for arrow in scripted(step, wire)]

    drawn = arrows_in(diagram(PLAY, wire, PLACES.templates))

    assert drawn == told
    assert asyncio.run(travelled()) == drawn


@pytest.mark.parametrize("wire", WIRES)
def test_the_diagram_has_two_participants_and_a_note_for_each_scene(wire: Wire) -> None:
    lines = diagram(PLAY, wire, PLACES.templates).splitlines()
    assert lines[0] == "sequenceDiagram"
    assert [line.split()[1] for line in lines if line.startswith("    participant")] == ["Host", "Server"]
    notes = [line.partition(": ")[2] for line in lines if line.startswith("    Note over Host,Server: ")]
    assert notes[: len(SCENES)] == [f"{scene.number}. {scene.title}" for scene in SCENES]


def test_two_renders_are_the_same_bytes(recordings: dict[Wire, Recording]) -> None:
    first, second = (walkthrough(PLAY, recordings, roster_rows(), PLACES.templates) for _ in range(2))
    assert first.encode() == second.encode()
    assert script_json(PLAY) == script_json(PLAY)


def test_every_document_ends_with_one_line_break_and_has_no_other_line_ends(
    recordings: dict[Wire, Recording],
) -> None:
    texts = [
        walkthrough(PLAY, recordings, roster_rows(), PLACES.templates),
        diagram(PLAY, "session", PLACES.templates),
        script_json(PLAY),
    ]
    assert [(text[-1], text[-2:] == "\n\n", "\r" in text) for text in texts] == [("\n", False, False)] * 3


@pytest.mark.parametrize("name", ["walkthrough.md.jinja", "sequence.mmd.jinja"])
def test_a_template_with_a_misspelt_name_fails(name: str, templates: Path, recordings: dict[Wire, Recording]) -> None:
    template = templates / name
    template.write_text(template.read_text(encoding="utf-8").replace(".title", ".titel"), encoding="utf-8")
    with pytest.raises(jinja2.UndefinedError, match="titel"):
        walkthrough(PLAY, recordings, roster_rows(), templates)


def test_values_cannot_break_out_of_the_diagram(templates: Path) -> None:
    wild = "a; b # c\nHost->>Server: forged %%{init}%% <b>$$x$$"
    step = Exchange("wild", CAST[0], "tools/call", Result(()), {"name": wild})
    scene = Scene(1, wild, "", "", (step,), (), ())

    drawn = diagram(Play((scene,), ()), "session", templates)

    assert arrows_in(drawn) == list(scripted_scene(scene, "session"))
    assert drawn.splitlines()[3] == (
        "    Note over Host,Server: 1. a#59; b #35; c#10;Host-#62;#62;Server: forged "
        "#37;#37;{init}#37;#37; #60;b#62;#36;#36;x#36;#36;"
    )


def test_values_cannot_break_out_of_markdown(recordings: dict[Wire, Recording]) -> None:
    rows = [RosterRow("a|b\n`c`", ("d|e",), ("<b>*f*</b> | g", "", ""))]
    rendered = walkthrough(PLAY, recordings, rows, PLACES.templates)
    assert r"| `` a\|b `c` `` | `d\|e` | \<b\>\*f\*\</b\> \| g |" in rendered


def test_each_target_has_its_own_escape() -> None:
    assert prose("call agents/get or step_up_scopes, *not* _this_") == (
        r"call `agents/get` or `step_up_scopes`, \*not\* \_this\_"
    )
    assert code("a ``b`` c") == "```a ``b`` c```"
    assert cell("a|b\nc") == r"a\|b c"
    assert fenced("```\nx\n", "json") == "````json\n```\nx\n````"
    assert in_diagram("plain: {text}") == "plain: {text}"
    assert anchor("4. Run it through tools/call") == "4-run-it-through-toolscall"


def test_the_script_as_json_has_every_scene_with_the_arrows_of_both_wires() -> None:
    data = json.loads(script_json(PLAY))
    assert [scene["title"] for scene in data["scenes"]] == [scene.title for scene in SCENES]
    for told, scene in zip(data["scenes"], SCENES, strict=True):
        for wire in WIRES:
            arrows = [Arrow(*arrow) for step in (*told["steps"], *told["cleanup"]) for arrow in step["arrows"][wire]]
            assert arrows == list(scripted_scene(scene, wire))
        assert told["checks"] == [check.title for check in scene.checks]
    log = next(step for step in data["scenes"][3]["steps"] if step.get("key") == "run-log")
    assert log["params"]["arguments"]["id"] == {
        "$from": {"step": "run-list", "path": ["structuredContent", "pipelines", 0, "id"]}
    }


def test_no_token_is_in_the_diagram_or_the_script_as_json() -> None:
    texts = [diagram(PLAY, wire, PLACES.templates) for wire in WIRES] + [script_json(PLAY)]
    assert [caller.token for caller in CAST for text in texts if caller.token in text] == []
