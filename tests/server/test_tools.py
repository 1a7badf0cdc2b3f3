"""The demo's tools: schemas, bounds, and answers that hang together."""

from typing import Any

import pytest

from server import records
from server.published import Published
from server.roster import TOOL_NAMES
from server.settings import Settings
from server.tools import build_tools
from tests.server.callers import Caller


def test_the_tools_are_those_the_roster_counts_on() -> None:
    assert tuple(tool.name for tool in build_tools(Published().registry)) == TOOL_NAMES


def test_every_tool_is_described_down_to_each_argument() -> None:
    for tool in build_tools(Published().registry):
        assert tool.title
        assert tool.description
        assert tool.annotations is not None
        assert tool.output_schema is not None
        assert all(argument["description"] for argument in tool.parameters.get("properties", {}).values())


def test_every_pipeline_has_a_log_that_can_be_read(caller: Caller) -> None:
    for pipeline in caller.tool("list_failed_pipelines", {"limit": 50})["pipelines"]:
        log = caller.tool("get_pipeline_log", {"id": pipeline["id"], "tail_lines": 200})
        assert (log["id"], log["branch"], log["total_lines"]) == (pipeline["id"], pipeline["branch"], len(log["lines"]))


def test_a_branch_without_failures_names_branches_that_have_some(caller: Caller) -> None:
    nothing = caller.tool("list_failed_pipelines", {"branch": "no-such"})
    assert nothing["pipelines"] == []
    assert "main" in nothing["next"]
    assert {p["branch"] for p in caller.tool("list_failed_pipelines", {"branch": "main"})["pipelines"]} == {"main"}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_failed_pipelines", {"limit": 0}),
        ("list_failed_pipelines", {"limit": 51}),
        ("list_failed_pipelines", {"branch": 3}),
        ("get_pipeline_log", {}),
        ("get_pipeline_log", {"id": "pl-1042", "tail_lines": 201}),
        ("deploy_service", {"service": "database", "version": "1.0.0"}),
        ("deploy_service", {"service": "api", "version": "latest"}),
        ("deploy_service", {"service": "api", "version": "1.0.0", "environment": "moon"}),
    ],
)
def test_arguments_out_of_bounds_are_a_result_the_model_can_read(
    caller: Caller, tool: str, arguments: dict[str, Any]
) -> None:
    result = caller.call("tools/call", {"name": tool, "arguments": arguments}, token="alice-deploy")
    assert result["isError"] is True
    assert "structuredContent" not in result


def test_a_deployment_is_the_same_each_time(caller: Caller) -> None:
    arguments = {"service": "api", "version": "1.4.2"}
    first = caller.tool("deploy_service", arguments, token="alice-deploy")
    assert first == caller.tool("deploy_service", arguments, token="alice-deploy")
    assert (first["deployment_id"], first["environment"]) == ("dep-api-1-4-2-staging", "staging")


def test_the_text_of_a_result_is_its_structure(caller: Caller) -> None:
    result = caller.call("tools/call", {"name": "list_failed_pipelines"})
    assert records.PIPELINES[0].error in result["content"][0]["text"]


@pytest.mark.parametrize(
    "wrong",
    [{"wire": "both"}, {"port": 70_000}, {"ttl_ms": -1}, {"page_size": 0}, {"synthetic": -1}, {"log_level": "x"}],
)
def test_settings_out_of_range_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"Settings.{next(iter(wrong))}"):
        Settings(**wrong)
