"""The committed documents: fresh, complete, without secrets, and refused where a byte of them is stale."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from demo.cast import CAST, DEFAULT_URL
from demo.documents import MEND, PLACES, Places, play_both, refresh, roster_rows, write_or_check
from demo.escapes import anchor
from demo.recording import Recording
from demo.render import WIRES
from demo.scene import Wire
from demo.script import SCENES
from server.__main__ import main as serve
from server.settings import MCP_PATH


@pytest.fixture(scope="module")
def played() -> dict[Wire, Recording]:
    return play_both()


@pytest.fixture
def copy(tmp_path: Path) -> Places:
    """The documents and what they are made from, in a place where a test may change them."""
    shutil.copytree(PLACES.templates, tmp_path / "templates")
    shutil.copytree(PLACES.recording("session").parent, tmp_path / "demo" / "recordings")
    shutil.copy(PLACES.walkthrough, tmp_path / "WALKTHROUGH.md")
    return Places(tmp_path)


def walkthrough_text() -> str:
    return PLACES.walkthrough.read_text(encoding="utf-8")


def test_what_is_committed_is_fresh() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "demo.documents", "--check"],
        cwd=PLACES.root,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert ran.stdout == "Fresh: session.json, stateless.json, WALKTHROUGH.md.\n"


def _change_walkthrough(copy: Places) -> None:
    copy.walkthrough.write_bytes(copy.walkthrough.read_bytes().replace(b"agents/list", b"agents/lost", 1))


def _change_line_ends(copy: Places) -> None:
    copy.walkthrough.write_bytes(copy.walkthrough.read_bytes().replace(b"\n", b"\r\n", 1))


def _cut_last_byte(copy: Places) -> None:
    copy.walkthrough.write_bytes(copy.walkthrough.read_bytes()[:-1])


def _change_template(copy: Places) -> None:
    template = copy.templates / "walkthrough.md.jinja"
    template.write_bytes(template.read_bytes().replace(b"## Run it", b"## Run that", 1))


def _change_diagram(copy: Places) -> None:
    template = copy.templates / "sequence.mmd.jinja"
    template.write_bytes(template.read_bytes().replace(b"Note over", b"Note left of", 1))


def _change_recording(copy: Places) -> None:
    recording = copy.recording("stateless")
    recording.write_bytes(recording.read_bytes().replace(b"60000", b"60001", 1))


def _lose_recording(copy: Places) -> None:
    copy.recording("session").unlink()


@pytest.mark.parametrize(
    ("change", "stale"),
    [
        (_change_walkthrough, "WALKTHROUGH.md"),
        (_change_line_ends, "WALKTHROUGH.md"),
        (_cut_last_byte, "WALKTHROUGH.md"),
        (_change_template, "WALKTHROUGH.md"),
        (_change_diagram, "WALKTHROUGH.md"),
        (_change_recording, "demo/recordings/stateless.json"),
        (_lose_recording, "demo/recordings/session.json"),
    ],
)
def test_a_changed_byte_is_stale_shown_and_mended_by_the_command(
    change: Callable[[Places], None],
    stale: str,
    copy: Places,
    played: dict[Wire, Recording],
    capsys: pytest.CaptureFixture[str],
) -> None:
    change(copy)
    before = {path: path.read_bytes() for path in copy.root.rglob("*") if path.is_file()}

    assert refresh(copy, check=True, play=lambda: played) == 1

    out, err = capsys.readouterr()
    assert out.startswith(f"--- {stale}\n+++ {stale} (fresh)\n@@ ")
    assert err == f"Stale: {Path(stale).name}. Mend it with: {MEND}\n"
    assert {path: path.read_bytes() for path in copy.root.rglob("*") if path.is_file()} == before

    assert refresh(copy, play=lambda: played) == 0
    assert refresh(copy, check=True, play=lambda: played) == 0


def test_fresh_documents_take_one_line(
    copy: Places, played: dict[Wire, Recording], capsys: pytest.CaptureFixture[str]
) -> None:
    assert refresh(copy, check=True, play=lambda: played) == 0
    out, err = capsys.readouterr()
    assert (out.count("\n"), err) == (1, "")


def test_a_document_that_cannot_be_written_is_told_in_one_line(
    copy: Places, played: dict[Wire, Recording], capsys: pytest.CaptureFixture[str]
) -> None:
    copy.walkthrough.unlink()
    copy.walkthrough.mkdir()
    assert refresh(copy, play=lambda: played) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"Error: cannot write {copy.walkthrough}: ")
    assert error.count("\n") == 1


def test_a_broken_template_is_one_line_and_writes_nothing(
    copy: Places, played: dict[Wire, Recording], capsys: pytest.CaptureFixture[str]
) -> None:
    (copy.templates / "walkthrough.md.jinja").write_text("{% if %}", encoding="utf-8")
    copy.walkthrough.unlink()
    assert refresh(copy, play=lambda: played) == 1
    assert capsys.readouterr().err.startswith("Error: no document was made (template walkthrough.md.jinja, line 1): ")
    assert not copy.walkthrough.exists()


# Rendering without playing: `python -m demo --doc`


def test_a_document_goes_to_standard_output_or_to_a_file(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    out = tmp_path / "new" / "walkthrough.md"
    assert write_or_check("md", wire="session", out=out, check=False) == 0
    assert write_or_check("md", wire="session", out=None, check=False) == 0
    assert out.read_bytes() == PLACES.walkthrough.read_bytes() == capfdbinary.readouterr().out


@pytest.mark.parametrize("doc", ["mermaid", "json"])
def test_a_rendered_file_is_checked_against_the_same_render(
    doc: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind: object = doc
    assert kind in ("mermaid", "json")
    out = tmp_path / "document"
    assert write_or_check(kind, wire="stateless", out=out, check=False) == 0
    assert write_or_check(kind, wire="stateless", out=out, check=True) == 0
    out.write_bytes(out.read_bytes() + b" ")
    capsys.readouterr()
    assert write_or_check(kind, wire="stateless", out=out, check=True) == 1
    told = capsys.readouterr()
    assert told.out.startswith(f"--- {out}\n")
    assert told.err.endswith(f"Mend it with: just demo --doc {doc} --wire stateless --out {out}\n")


def test_checking_a_diagram_needs_a_file_to_compare_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert write_or_check("mermaid", wire="session", out=None, check=True) == 2
    assert "--out FILE" in capsys.readouterr().err


def test_without_a_recording_the_walkthrough_names_the_next_move(
    copy: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    copy.recording("stateless").unlink()
    assert write_or_check("md", wire="session", out=None, check=True, places=copy) == 1
    assert "stateless.json cannot be read" in capsys.readouterr().err
    copy.recording("stateless").write_text("{", encoding="utf-8")
    assert write_or_check("md", wire="session", out=None, check=True, places=copy) == 1
    err = capsys.readouterr().err
    assert "stateless.json" in err
    assert "just readme" in err


# What WALKTHROUGH.md holds


def test_tokens_are_named_in_the_set_up_only() -> None:
    before, rest = walkthrough_text().split("\n## Set up\n")
    set_up, scenes = rest.split("\n## 1. ", 1)
    assert all(f"export {caller.variable}={caller.token}\n" in set_up for caller in CAST)
    recordings = [PLACES.recording(wire).read_text(encoding="utf-8") for wire in WIRES]
    assert [caller.token for caller in CAST for text in (before, scenes, *recordings) if caller.token in text] == []


def test_links_lead_to_files_and_headings_that_exist() -> None:
    text = walkthrough_text()
    targets = set(re.findall(r"\]\(([^)]+)\)", text))
    headings = {anchor(line.lstrip("# ").replace("`", "")) for line in text.splitlines() if line.startswith("## ")}
    missing = [t for t in targets if not (t[1:] in headings if t.startswith("#") else (PLACES.root / t).is_file())]
    assert len(targets) > len(SCENES)
    assert missing == []


def test_every_scene_has_its_note_checks_and_files() -> None:
    text = walkthrough_text()
    for scene in SCENES:
        section = text.split(f"\n## {scene.number}. ")[1].split("\n## ")[0]
        assert section.count("<summary>The same on the stateless wire</summary>") == 1
        assert section.count("\n- ") == len(scene.checks)
        assert all(f"[{file}]({file})" in section for file in scene.code)


def test_the_roster_table_follows_from_the_servers_own_rules() -> None:
    rows = {row.agent: row for row in roster_rows()}
    assert rows["billing-agent"].access == ("does not see it", "does not see it", "sees and opens it")
    assert rows["deploy-agent"].access == (
        "sees it, needs ops:deploy to open it",
        "sees and opens it",
        "sees it, needs ops:deploy to open it",
    )
    assert rows["pipeline-agent"].tools == ("list_failed_pipelines", "get_pipeline_log")


def test_the_documented_address_is_the_demo_servers_own() -> None:
    port = next(option.default for option in serve.params if option.name == "port")
    assert f"http://127.0.0.1:{port}{MCP_PATH}" == DEFAULT_URL
    assert f"export URL={DEFAULT_URL}\n" in walkthrough_text()
