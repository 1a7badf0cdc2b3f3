"""What the conformance tests share: the tools from npm, and the suite's verdict on each subject, found once a run."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from typing import Final

import pytest
from starlette.types import ASGIApp

from tests.conformance.fixture_server import build_demo_app, build_fixture_app, serving
from tests.conformance.scenarios import Run
from tests.conformance.suite import Check, Verdict, run_client_scenario, run_server_scenarios
from tests.conformance.toolbox import Toolbox, ToolboxMissing, installed

_APPS: Final[Mapping[str, Callable[[], ASGIApp]]] = {"fixture": build_fixture_app, "demo": build_demo_app}


@pytest.fixture(scope="session")
def tools() -> Toolbox:
    """The suite and its Node. In CI they have to be there; elsewhere tests that need them are skipped without."""
    try:
        return installed()
    except ToolboxMissing as error:
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(f"these tests must run in CI: {error}", pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def verdict(tools: Toolbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verdict]:
    """What the suite found in one scenario; a server's scenarios of one version are run together, once."""
    with ExitStack() as running:

        @cache
        def url_of(subject: str) -> str:
            return running.enter_context(serving(_APPS[subject]()))

        @cache
        def at_server(subject: str, version: str) -> Mapping[str, tuple[Check, ...]]:
            results = tmp_path_factory.mktemp(subject)
            return run_server_scenarios(tools, url_of(subject), version, results)

        def of(run: Run) -> tuple[Check, ...]:
            if run.side == "server":
                return at_server(run.subject, run.version)[run.scenario]
            return run_client_scenario(tools, run.scenario, run.version, tmp_path_factory.mktemp("host"))

        yield of
