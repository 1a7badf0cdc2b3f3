"""The checks' logic: what must hold in each scene, read out of what travelled.

Each function takes the scene's memory and returns a finding; where an answer that it needs is missing it lets
`NotReached` pass, which becomes a failed check. The scenes name them in `demo.script`.
"""

from demo.checks.changing import (
    cached_roster_answered,
    new_roster_has_release_agent,
    notification_arrived,
    notification_dropped_the_roster,
    someone_changed_the_roster,
    starts_without_release_agent,
)
from demo.checks.hiding import (
    bob_sees_billing_agent,
    bob_was_asked_for,
    hidden_equals_unknown,
    hidden_is_not_found,
    someone_published_meanwhile,
)
from demo.checks.roster import (
    alice_keeps_no_billing_agent,
    answer_is_private,
    cards_carry_routing_fields_only,
    extension_is_advertised,
    list_changed_is_promised,
    names_are_unique,
    roster_has,
)
from demo.checks.running import (
    instructions_arrived,
    log_is_of_the_listed_pipeline,
    model_was_chosen,
    only_core_methods_ran_the_agent,
    routing_hint,
    scoped_tools_were_called,
    tools_equal_tools_list,
)
from demo.checks.stepping_up import (
    challenge_names_the_scope,
    retry_opened_deploy_agent,
    retry_reached_the_server,
    step_up_asks_for_the_union,
    union_of_scopes,
)

__all__ = [
    "alice_keeps_no_billing_agent",
    "answer_is_private",
    "bob_sees_billing_agent",
    "bob_was_asked_for",
    "cached_roster_answered",
    "cards_carry_routing_fields_only",
    "challenge_names_the_scope",
    "extension_is_advertised",
    "hidden_equals_unknown",
    "hidden_is_not_found",
    "instructions_arrived",
    "list_changed_is_promised",
    "log_is_of_the_listed_pipeline",
    "model_was_chosen",
    "names_are_unique",
    "new_roster_has_release_agent",
    "notification_arrived",
    "notification_dropped_the_roster",
    "only_core_methods_ran_the_agent",
    "retry_opened_deploy_agent",
    "retry_reached_the_server",
    "roster_has",
    "routing_hint",
    "scoped_tools_were_called",
    "someone_changed_the_roster",
    "someone_published_meanwhile",
    "starts_without_release_agent",
    "step_up_asks_for_the_union",
    "tools_equal_tools_list",
    "union_of_scopes",
]
