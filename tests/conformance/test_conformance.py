"""The MCP conformance suite's verdict on this project's servers and on its host connections."""

import pytest

from tests.conformance.scenarios import EXPECTED_FAILURES, LEFT_OUT, RUNS, VERSIONS, Run
from tests.conformance.suite import Verdict, offered
from tests.conformance.toolbox import Toolbox

# The first test installs what is needed from npm and runs the suite for all that follow.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

_EXPECTED = {(failure.run, failure.check) for failure in EXPECTED_FAILURES}


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_it_passes_but_for_what_the_table_expects(verdict: Verdict, run: Run) -> None:
    checks = verdict(run)
    unexpected = [check for check in checks if check.complains and (run, check.id) not in _EXPECTED]
    assert not unexpected
    expected = {check for other, check in _EXPECTED if other == run}
    stale = expected - {check.id for check in checks if check.complains}
    assert not stale, f"passes now, so take it out of scenarios.toml: {', '.join(sorted(stale))}"
    assert expected or any(check.status == "SUCCESS" for check in checks), "the suite looked at nothing"


def test_each_scenario_of_the_suite_is_run_or_left_out_with_a_reason(tools: Toolbox) -> None:
    run = {(one.side, one.scenario, one.version) for one in RUNS if one.subject != "demo"}
    left_out = {(one.side, one.scenario) for one in LEFT_OUT}
    offers = offered(tools)
    forgotten = [
        (offer.side, offer.name, version)
        for offer in offers
        # A scenario of an extension, or of older versions only, is named once; the others once for each of ours.
        for version in (offer.versions & {*VERSIONS} or {""})
        if (offer.side, offer.name) not in left_out and (offer.side, offer.name, version) not in run
    ]
    assert not forgotten
    known = {(offer.side, offer.name) for offer in offers}
    assert left_out <= known
    assert {(one.side, one.scenario) for one in RUNS} <= known
