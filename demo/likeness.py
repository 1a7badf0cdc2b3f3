"""Whether two refusals can be told apart: answers without what may differ between any two of them.

Owns what counts as no difference: the id, the echoed name, the date and the digits of the length. Source: draft, "a
server must not tell an unknown agent from a hidden one".
"""

import json
from collections.abc import Collection
from typing import Any, Final

from agent_discovery.host import AnswerFrame

__all__ = ["VARYING", "comparable"]

VARYING: Final = frozenset({"date", "content-length"})
"""Headers that differ from answer to answer; the length counts the digits of the id and the letters of the name."""


def comparable(answer: AnswerFrame, name: str, *, varying: Collection[str] = VARYING) -> dict[str, Any]:
    """Status, headers and body of an answer to a request for `name`, to be compared with another name's."""
    message = {member: value for member, value in (answer.message or {}).items() if member != "id"}
    echoed = json.dumps(name, ensure_ascii=False)[1:-1]
    body = json.dumps(message or answer.body, sort_keys=True, ensure_ascii=False).replace(echoed, "<name>")
    headers = {field: value for field, value in answer.headers.items() if field not in varying}
    return {"status": answer.status, "headers": headers, "body": body}
