"""Servers that break one promise each, and what must catch them.

Owns the cases. It leaves the ways to tamper to `tests.demo.tampering` and the running of a case to the tests.
"""

from dataclasses import dataclass, replace
from typing import Final

from agent_discovery.wire import EXTENSION_ID
from demo.scene import Wire
from tests.broken_servers import Tamper
from tests.demo.tampering import (
    always_with_release_agent,
    another_log,
    capabilities,
    chained,
    challenged,
    details,
    leaking_billing_agent,
    no_notification,
    of_alice,
    on,
    opened_for_all,
    public,
    refusal,
    refused,
    roster,
    saying_that_it_changed,
    stamped,
    still_refused,
    tool_changed,
    unkept,
    withheld,
    without_extension,
    without_member,
    without_release_agent,
)

__all__ = ["CASES", "Broken"]


@dataclass(frozen=True)
class Broken:
    """One broken server, and what must catch it."""

    name: str
    tamper: Tamper
    caught_by: str
    """Exactly these checks: the scene's number and the names of the probes; further scenes after a semicolon."""
    wires: tuple[Wire, ...] = ("session", "stateless")
    exit_code: int = 1
    scenes: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    """Those that are played: where one broken answer would fail half the walk, the one that looks at it."""
    disturbs: bool = False
    """Whether its answers look, at first, as if somebody else had been at work."""
    silent: bool = False
    """Whether no notification will come, so that there is no use in waiting for one."""
    timeout: float = 10.0
    """Seconds; few where an answer will never come, many where a slow machine must not be taken for a broken server."""

    @property
    def failed(self) -> set[tuple[int, str]]:
        """`caught_by` as pairs of scene and probe."""
        scenes = [part.split() for part in self.caught_by.split(";")]
        return {(int(number), probe) for number, *probes in scenes for probe in probes}


CASES: Final = (
    Broken(
        "does not let itself be opened",
        chained(on("initialize", refused), on("server/discover", refused)),
        "1 extension_is_advertised list_changed_is_promised as_scripted",
        exit_code=3,
    ),
    Broken("leaks billing-agent to Alice", roster(leaking_billing_agent), "2 alice_keeps_no_billing_agent"),
    Broken(
        "does not list deploy-agent",
        roster(lambda _, cards: [c for c in cards if c["name"] != "deploy-agent"]),
        "2 roster_has",
    ),
    Broken(
        "names an agent twice",
        roster(lambda _, cards: [*cards, cards[0]]),
        "2 names_are_unique as_scripted",
        scenes=(2,),
    ),
    Broken(
        "puts instructions in a card",
        roster(lambda _, cards: [{**c, "instructions": "Do."} for c in cards]),
        "2 cards_carry_routing_fields_only",
    ),
    Broken(
        "puts tools in a card",
        roster(lambda _, cards: [{**cards[0], "tools": ["list_failed_pipelines"]}, *cards[1:]]),
        "2 cards_carry_routing_fields_only",
    ),
    Broken(
        "puts a null in place of a card",
        roster(lambda _, cards: [*cards, None]),
        "2 cards_carry_routing_fields_only as_scripted",
        scenes=(2,),
    ),
    Broken(
        "sends a roster that is no list",
        on("agents/list", lambda _, a: a.with_result(agents={"a": 1})),
        "2 cards_carry_routing_fields_only names_are_unique roster_has alice_keeps_no_billing_agent as_scripted",
        scenes=(2,),
    ),
    Broken(
        "lets everyone share the roster",
        on("agents/list", public),
        "2 answer_is_private; 5 bob_sees_billing_agent bob_was_asked_for",
    ),
    Broken("gives Bob Alice's roster", roster(of_alice), "5 bob_sees_billing_agent"),
    Broken(
        "words the refusal of a hidden name differently",
        refusal("billing-agent", lambda e: {"message": e["message"] + " "}),
        "5 hidden_equals_unknown",
    ),
    Broken(
        "gives the refusal of a hidden name more data",
        refusal("billing-agent", lambda e: {"data": {**e["data"], "hidden": True}}),
        "5 hidden_equals_unknown",
    ),
    Broken(
        "gives the refusal of a hidden name another code",
        refusal("billing-agent", lambda e: {"code": -32603}),
        "5 hidden_is_not_found hidden_equals_unknown as_scripted",
    ),
    Broken(
        "answers a hidden name with another status",
        on("agents/get", lambda _, a: replace(a, status=404), "billing-agent"),
        "5 hidden_equals_unknown",
    ),
    Broken(
        "answers a hidden name with 403",
        on("agents/get", lambda _, a: replace(a, status=403), "billing-agent"),
        "5 hidden_equals_unknown",
    ),
    Broken(
        "answers a hidden name with a header more",
        on("agents/get", lambda _, a: a.with_header("x-policy", "billing"), "billing-agent"),
        "5 hidden_equals_unknown",
    ),
    Broken(
        "opens a hidden agent",
        on("agents/get", opened_for_all, "billing-agent"),
        "5 hidden_is_not_found hidden_equals_unknown as_scripted",
    ),
    Broken(
        "describes a scoped tool differently",
        tool_changed(lambda tool: {**tool, "description": "Another."}),
        "3 tools_equal_tools_list",
    ),
    Broken(
        "leaves a field out of a scoped tool",
        tool_changed(lambda tool: without_member(tool, "outputSchema")),
        "3 tools_equal_tools_list",
    ),
    Broken(
        "scopes a tool that is not in tools/list",
        tool_changed(lambda tool: {**tool, "name": "other_tool"}),
        "3 tools_equal_tools_list; 4 scoped_tools_were_called",
    ),
    Broken(
        "gives no instructions",
        details("pipeline-agent", lambda _: {"instructions": None}),
        "3 instructions_arrived as_scripted",
    ),
    Broken(
        "hints at a model in its own words",
        details("pipeline-agent", lambda _: {"modelRoutingHint": {"role": "huge", "vision": False}}),
        "3 model_was_chosen",
    ),
    Broken(
        "hints at vision with a text",
        details("pipeline-agent", lambda _: {"modelRoutingHint": {"role": "small", "vision": "yes"}}),
        "3 model_was_chosen",
    ),
    Broken(
        "cannot open pipeline-agent",
        on("agents/get", refused, "pipeline-agent"),
        "3 tools_equal_tools_list instructions_arrived model_was_chosen as_scripted; 4 scoped_tools_were_called",
    ),
    Broken(
        "gives the agent no tools",
        details("pipeline-agent", lambda _: {"tools": []}),
        "3 tools_equal_tools_list; 4 scoped_tools_were_called",
    ),
    Broken("reads another log", on("tools/call", another_log, "get_pipeline_log"), "4 log_is_of_the_listed_pipeline"),
    Broken(
        "fails to run a tool",
        on("tools/call", lambda _, a: a.with_result(isError=True), "get_pipeline_log"),
        "4 log_is_of_the_listed_pipeline",
    ),
    Broken(
        "never answers tools/call",
        on("tools/call", withheld, "list_failed_pipelines"),
        "4 scoped_tools_were_called only_core_methods_ran_the_agent log_is_of_the_listed_pipeline as_scripted",
        timeout=1.0,
    ),
    Broken(
        "refuses without a scope",
        challenged(headers={"www-authenticate": 'Bearer error="insufficient_scope"'}),
        "6 challenge_names_the_scope step_up_asks_for_the_union as_scripted",
    ),
    Broken(
        "refuses without a challenge",
        challenged(headers={"content-type": "application/json"}),
        "6 challenge_names_the_scope step_up_asks_for_the_union as_scripted",
    ),
    Broken(
        "refuses with status 200",
        challenged(status=200),
        "6 challenge_names_the_scope retry_reached_the_server retry_opened_deploy_agent as_scripted",
    ),
    Broken("refuses with status 401", challenged(status=401), "6 challenge_names_the_scope as_scripted"),
    Broken(
        "asks for another scope",
        challenged(headers={"www-authenticate": 'Bearer error="insufficient_scope", scope="admin"'}),
        "6 challenge_names_the_scope step_up_asks_for_the_union as_scripted",
    ),
    Broken(
        "opens deploy-agent for everyone",
        on("agents/get", opened_for_all, "deploy-agent"),
        "6 challenge_names_the_scope step_up_asks_for_the_union retry_reached_the_server retry_opened_deploy_agent"
        " as_scripted",
    ),
    Broken(
        "refuses the stepped-up token",
        on("agents/get", still_refused, "deploy-agent"),
        "6 retry_opened_deploy_agent as_scripted",
    ),
    Broken(
        "sends no notification",
        no_notification,
        "7 notification_arrived notification_dropped_the_roster new_roster_has_release_agent as_scripted",
        silent=True,
    ),
    Broken(
        "lets nobody keep the roster",
        on("agents/list", unkept),
        "7 cached_roster_answered notification_dropped_the_roster",
    ),
    Broken(
        "publishes nothing and says it did",
        chained(no_notification, roster(without_release_agent)),
        "7 notification_arrived notification_dropped_the_roster new_roster_has_release_agent as_scripted",
        disturbs=True,
        silent=True,
    ),
    Broken(
        "publishes nothing and says so",
        chained(saying_that_it_changed(False), no_notification, roster(without_release_agent)),
        "7 notification_arrived notification_dropped_the_roster new_roster_has_release_agent as_scripted",
        disturbs=True,
        silent=True,
    ),
    Broken("never retires", roster(always_with_release_agent), "7 starts_without_release_agent", disturbs=True),
    Broken("stamps no subscription", stamped(None), "7 notification_arrived", wires=("stateless",)),
    Broken("stamps another subscription", stamped("another"), "7 notification_arrived", wires=("stateless",)),
    Broken(
        "stamps a subscription where there is none", stamped("another"), "7 notification_arrived", wires=("session",)
    ),
    Broken(
        "does not advertise the extension",
        capabilities(without_extension),
        "1 extension_is_advertised list_changed_is_promised",
        exit_code=3,
    ),
    Broken(
        "advertises without listChanged",
        capabilities(lambda offered: {**offered, "extensions": {EXTENSION_ID: {}}}),
        "1 list_changed_is_promised",
    ),
    Broken(
        "advertises that it is silent",
        capabilities(lambda offered: {**offered, "extensions": {EXTENSION_ID: {"listChanged": False}}}),
        "1 list_changed_is_promised",
    ),
)
