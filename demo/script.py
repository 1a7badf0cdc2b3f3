"""The seven scenes: the single source that the terminal, the documents and every other teller read.

Prose here is plain text, told as it stands by every teller. What a step says on an arrow is worded in `demo.arrows`.
"""

from collections.abc import Mapping
from typing import Any

from agent_discovery.host import RoleTable
from agent_discovery.wire import (
    AGENT_NOT_FOUND,
    AGENTS_GET,
    AGENTS_LIST,
    INVALID_PARAMS,
    LIST_CHANGED,
)
from demo import checks
from demo.cast import ALICE, ALICE_STEPPED_UP, BOB, Caller
from demo.memory import Memory
from demo.scene import (
    Challenged,
    Check,
    Decide,
    Exchange,
    Hear,
    Leave,
    Listen,
    Open,
    Recall,
    Ref,
    Refused,
    Result,
    Scene,
    Step,
    Unlisten,
)

__all__ = ["CLOSING", "INTRODUCTION", "MODELS", "SCENES", "TITLE"]

TITLE = "Agent discovery over MCP, step by step"

INTRODUCTION = """\
An MCP server can group some of its tools into an agent: a name, a short description, instructions, and a list of the \
server's own tools. A host asks for the roster with agents/list, opens the agent it wants with agents/get, and runs it \
itself, with its own model, through ordinary tools/call. There is no method that invokes an agent. This walkthrough \
plays the draft against a real server over real HTTP, and checks on the way that what it says is so."""

MODELS = RoleTable(
    {"small": "house-model-mini", "medium": "house-model", "large": "house-model-max"},
    default="house-model",
    vision=("house-model", "house-model-max"),
)
"""The host's own models, by the role that a server may hint at."""

_PAGE = Result(("agents", "ttlMs", "cacheScope"))
_TOOLS = Result(("tools",), only_stateless=("ttlMs", "cacheScope"))
_CALLED = Result(("content", "structuredContent", "isError"))
_DETAILS = Result(("agent", "instructions", "modelRoutingHint", "tools", "ttlMs", "cacheScope"))


def _list(key: str, caller: Caller, *, pause: bool = True) -> Exchange:
    return Exchange(key, caller, AGENTS_LIST, _PAGE, through_cache=True, pause=pause)


def _get(key: str, caller: Caller, name: str, answer: Result | Refused | Challenged) -> Exchange:
    return Exchange(key, caller, AGENTS_GET, answer, {"name": name}, through_cache=True)


def _call(
    key: str, caller: Caller, tool: str, arguments: Mapping[str, Any] | None = None, *, pause: bool = True
) -> Exchange:
    return Exchange(key, caller, "tools/call", _CALLED, {"name": tool, "arguments": dict(arguments or {})}, pause=pause)


def _choose_model(memory: Memory) -> str:
    choice = MODELS.choose(checks.routing_hint(memory))
    return f"{choice.model}: {choice.why}"


_NOT_FOUND = Refused(INVALID_PARAMS, AGENT_NOT_FOUND)

SCENES: tuple[Scene, ...] = (
    Scene(
        1,
        "Connect and look for the extension",
        "how a server says that it has agents, and what a host does where it does not",
        "Alice's host connects. Before it asks for agents it looks whether the server offers any: an extension is "
        "advertised in the server's capabilities, and a host must not assume it.\n\n"
        "The host declares the extension too. A server answers agents/list and agents/get only to clients that did.",
        (Open(ALICE, "open-alice"),),
        (
            Check("The server advertises the extension", checks.extension_is_advertised),
            Check("It promises to say when the roster changes", checks.list_changed_is_promised),
        ),
        ("agent_discovery/host/session.py", "agent_discovery/host/stateless.py", "agent_discovery/server/extension.py"),
        gate=True,
    ),
    Scene(
        2,
        "List what Alice can see",
        "what a roster card holds, and what it leaves out",
        "The roster is for routing: each card has a name, a description and labels, just enough to choose by. "
        "Instructions and tool schemas stay on the server until an agent is opened, so that a model which only chooses "
        "does not pay for them.\n\n"
        "The answer depends on who asks. That is why it says that its cache scope is private.",
        (_list("list-alice", ALICE),),
        (
            Check("Cards carry routing fields only", checks.cards_carry_routing_fields_only),
            Check("Each name is there once", checks.names_are_unique),
            Check("Alice sees pipeline-agent and deploy-agent", checks.roster_has),
            Check("Alice does not see billing-agent", checks.alice_keeps_no_billing_agent),
            Check("The roster is private", checks.answer_is_private),
        ),
        ("agent_discovery/server/registry.py", "agent_discovery/host/cache.py", "server/roster.py"),
    ),
    Scene(
        3,
        "Open pipeline-agent",
        "what a host gets when it opens an agent, and that its tools are the server's own",
        "The host opens one agent and gets what it needs to run it: instructions, a hint about the kind of model, and "
        "the definitions of its tools. They are not new tools: each equals its entry in tools/list, for this caller, "
        "in every field. The host asks for that list too and compares.\n\n"
        "The hint is advice. The host maps the role to one of its own models.",
        (
            _get("open-pipeline", ALICE, "pipeline-agent", _DETAILS),
            Exchange("list-tools", ALICE, "tools/list", _TOOLS),
            Decide("choose-model", "RoleTable maps the hint to a model of the host's own", _choose_model),
        ),
        (
            Check("Each tool equals its tools/list entry, field for field", checks.tools_equal_tools_list),
            Check("The agent brings instructions", checks.instructions_arrived),
            Check("The host has a model for it", checks.model_was_chosen),
        ),
        ("agent_discovery/server/extension.py", "agent_discovery/host/roles.py"),
    ),
    Scene(
        4,
        "Run it through tools/call",
        "that a host runs the agent itself: there is no method to invoke one",
        "Running the agent is the host's work: it gives its model the instructions and just these tools, and carries "
        "out the model's calls as ordinary tools/call. Here the script stands in for the model and calls each of the "
        "agent's tools once. It takes the pipeline's id from the first answer.",
        (
            Recall("recall-pipeline", ALICE, "pipeline-agent"),
            _call("run-list", ALICE, "list_failed_pipelines"),
            _call(
                "run-log",
                ALICE,
                "get_pipeline_log",
                {"id": Ref("run-list", ("structuredContent", "pipelines", 0, "id"))},
            ),
        ),
        (
            Check("Each of the agent's tools was called, and no other", checks.scoped_tools_were_called),
            Check("Nothing but tools/call ran it", checks.only_core_methods_ran_the_agent),
            Check("The log is that of the pipeline listed first", checks.log_is_of_the_listed_pipeline),
        ),
        ("server/tools.py", "demo/stage.py"),
    ),
    Scene(
        5,
        "Bob sees another roster",
        "that the roster is filtered for each caller, and that what is hidden cannot be told from what does not exist",
        "Bob connects to the same server. His token lets him see billing-agent, and his host has to ask for itself: "
        "what it cached for Alice was hers alone.\n\n"
        "Then Alice asks for billing-agent by name. The answer is the one that a name gets which never existed. The "
        "host asks for such a name too and compares the two: a refusal that gave away more would tell Alice what is "
        "there.",
        (
            Open(BOB, "open-bob"),
            _list("list-bob", BOB),
            _get("get-hidden", ALICE, "billing-agent", _NOT_FOUND),
            _get("get-unknown", ALICE, "missing-agent", _NOT_FOUND),
        ),
        (
            Check("Bob sees billing-agent", checks.bob_sees_billing_agent),
            Check("Alice's cached roster was not given to Bob", checks.bob_was_asked_for),
            Check("To Alice billing-agent does not exist", checks.hidden_is_not_found),
            Check("A hidden name answers exactly as an unknown one", checks.hidden_equals_unknown),
        ),
        ("agent_discovery/server/access.py", "agent_discovery/server/registry.py", "server/tokens.py"),
        disturbed=checks.someone_published_meanwhile,
    ),
    Scene(
        6,
        "Step up",
        "how a server asks for more permission, and how a host gets it and tries again",
        "deploy-agent is listed for everyone, but opening it takes a scope that Alice's token lacks. That is no "
        "secret, so the server says so where HTTP says such things: with status 403 and a WWW-Authenticate header that "
        "names the scope.\n\n"
        "The host reads the scope, adds it to those it has, gets a token for the same user, and asks again. A refusal "
        "is never cached, so the second request reaches the server.",
        (
            _get("get-deploy-refused", ALICE, "deploy-agent", Challenged("ops:deploy")),
            Decide("union", "step_up_scopes reads the challenge", checks.union_of_scopes),
            _get("get-deploy", ALICE_STEPPED_UP, "deploy-agent", _DETAILS),
        ),
        (
            Check("The refusal is a 403 that names the missing scope", checks.challenge_names_the_scope),
            Check("The host asks for what it had and what is missing", checks.step_up_asks_for_the_union),
            Check("The refusal was not cached", checks.retry_reached_the_server),
            Check("With the new token the agent opens", checks.retry_opened_deploy_agent),
        ),
        ("agent_discovery/server/stepup.py", "agent_discovery/host/challenge.py"),
    ),
    Scene(
        7,
        "The roster changes",
        "how a host learns that its cached roster is out of date, long before it expires",
        "The host keeps a stream open on which the server tells of changes. It lists once more; asked again at once, "
        "its cache answers and nothing is sent. Then release-agent is published. The server sends a notification, and "
        "that alone makes the host drop a roster that would have been fresh for the better part of a minute.\n\n"
        "So that the scene can be played again, by anyone, it starts by retiring release-agent and ends with it.",
        (
            _call("retire-first", ALICE, "retire_release_agent"),
            Listen(ALICE, "listen"),
            _list("list-before", ALICE),
            Recall("list-again", ALICE, None),
            _call("publish", ALICE, "publish_release_agent", pause=False),
            Hear("hear-changed", ALICE, LIST_CHANGED),
            _list("list-after", ALICE),
            Unlisten(),
        ),
        (
            Check("The scene starts without release-agent", checks.starts_without_release_agent),
            Check("The cached roster answers without a request", checks.cached_roster_answered),
            Check("The server tells of the change", checks.notification_arrived),
            Check("The notification alone drops the roster", checks.notification_dropped_the_roster),
            Check("The new roster has release-agent", checks.new_roster_has_release_agent),
        ),
        ("agent_discovery/server/changes.py", "agent_discovery/host/watch.py", "agent_discovery/host/cache.py"),
        cleanup=(_call("retire-last", ALICE, "retire_release_agent", pause=False),),
        disturbed=checks.someone_changed_the_roster,
    ),
)

CLOSING: tuple[Step, ...] = (Leave(ALICE, "leave-alice"), Leave(BOB, "leave-bob"))
"""After the last scene each host ends its session. The stateless wire has none to end."""
