"""The project's own files agree with each other."""

import re
import tomllib
from pathlib import Path

from agent_discovery import __version__

ROOT = Path(__file__).resolve().parent.parent


def _project() -> dict[str, object]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert isinstance(project, dict)
    return project


def test_the_top_version_of_the_changelog_is_the_projects() -> None:
    versions = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert versions[0] == _project()["version"]


def test_the_code_introduces_itself_by_the_projects_version() -> None:
    assert _project()["version"] == __version__


def test_the_lock_pins_each_dependency_by_hash_and_names_no_host() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = {name.lower() for name in re.findall(r"^([A-Za-z0-9._-]+)==", lock, re.MULTILINE)}
    dependencies = _project()["dependencies"]
    assert isinstance(dependencies, list)
    wanted = {re.split(r"[<>=!~\[; ]", text)[0].lower() for text in dependencies}
    assert wanted <= pinned
    assert "://" not in lock
    for entry in re.split(r"^(?=[A-Za-z0-9._-]+==)", lock, flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in entry


def test_the_readmes_first_code_block_holds_the_two_commands_and_nothing_else() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```\w*\n(.*?)```", readme, re.DOTALL)
    assert block is not None
    assert block[1].splitlines() == ["./run demo", "./run test"]


def test_the_readme_shows_the_examples_as_they_are() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for example in ("minimal_server.py", "minimal_host.py"):
        assert f"```python\n{(ROOT / 'examples' / example).read_text(encoding='utf-8')}```\n" in readme


def test_the_readmes_links_lead_to_files() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", readme) if "://" not in link]
    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_readme_maps_every_room_on_its_first_screen() -> None:
    first_screen = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:45])
    rooms = "agent_discovery/server agent_discovery/host server/ demo/ templates/ examples/ tests/ WALKTHROUGH.md"
    for room in rooms.split():
        assert room in first_screen
