"""The context meter: bytes as they would be given to a model, and an estimate that says it is one."""

import json

from demo.tui.meter import Cost, context_cost, meter_text

TOOL = {"name": "deploy", "description": "Déployer", "inputSchema": {"type": "object"}}
CARD = {"name": "pipeline-agent", "description": "Runs pipelines"}


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def test_both_ways_are_counted_in_bytes_of_compact_json() -> None:
    opened = {"agent": CARD, "instructions": "Do it.", "tools": [TOOL], "ttlMs": 60_000}
    cost = context_cost({"tools": [TOOL, TOOL], "nextCursor": "x"}, [CARD], [opened])
    assert cost == Cost(
        tools=_size([TOOL, TOOL]),
        roster=_size([CARD]),
        opened=_size({"instructions": "Do it.", "tools": [TOOL]}),
        agents=1,
    )
    assert cost.discovered == cost.roster + cost.opened


def test_what_nobody_asked_for_is_not_counted() -> None:
    assert context_cost(None, [], []) == Cost(None, 0, 0, 0)
    assert "not asked" in meter_text(context_cost(None, [CARD], []))


def test_tokens_are_a_quarter_of_the_bytes_and_said_to_be_an_estimate() -> None:
    told = meter_text(Cost(tools=4001, roster=10, opened=2, agents=2))
    assert "tools/list: 4,001 bytes, ~1,001 tokens" in told
    assert "agents/list + 2 agents: 12 bytes, ~3 tokens" in told
    assert "estimate" in told
