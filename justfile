# The project's commands. Arguments pass through: `just demo --wire stateless`, `just serve --port 9000`.
set positional-arguments
set shell := ["sh", "-eu", "-c"]

python := ".venv/bin/python"

# list the commands
[default]
[private]
list:
    @{{ just_executable() }} --list --unsorted

# the demo server on http://127.0.0.1:8080/mcp
[no-exit-message]
serve *args: _venv
    @{{ python }} -m server "$@"

# the walkthrough, step by step in the terminal (alone it brings its own server)
[no-exit-message]
demo *args: _venv
    @{{ python }} -m demo "$@"

# the walkthrough as a program that fills the terminal, to walk and to explore (`--explore`)
[no-exit-message]
tui *args: _venv
    @{{ python }} -m demo --tui "$@"

# the tests (`just test -m slow`: the long ones)
test *args: _venv
    {{ python }} -m pytest -n auto "$@"

# lint, format and type check
lint: _venv
    {{ python }} -m ruff check .
    {{ python }} -m ruff format --check .
    {{ python }} -m mypy

# regenerate WALKTHROUGH.md from the script (`--check`: only say whether it is stale)
[no-exit-message]
readme *args: _venv
    @{{ python }} -m demo.documents "$@"

# take the README's pictures of the program again
[no-exit-message]
pictures: _venv
    @{{ python }} -m demo.tui.pictures

# measure: a whole run against the official SDK's client
[no-exit-message]
bench *args: _venv
    @{{ python }} -m bench "$@"

# pin the dependencies again: names, versions and hashes (needs uv)
lock:
    uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet --group dev pyproject.toml --output-file requirements.lock

_venv:
    @./run --only-venv
