"""Makes text safe for where a document puts it: prose, code, table cells, fences, mermaid messages.

Values come from the script and from a server; what is markup in the target must not come out of a value (draft,
security considerations: a server's texts are shown, never rendered).
"""

import html
import re
from typing import Final

__all__ = ["anchor", "cell", "code", "fenced", "in_diagram", "in_html", "prose"]

_SPECIAL_IN_DIAGRAMS: Final = re.compile(r"[#;<>&%$\x00-\x1f\x7f]")
_SPECIAL_IN_PROSE: Final = re.compile(r"[\\`*_\[\]<>&|~#]")
_TECHNICAL: Final = re.compile(
    r"""\b(?:
        [A-Za-z]+(?:[/_][A-Za-z]+)+     # tools/list, step_up_scopes
        | [a-z]+-agent                  # pipeline-agent
        | [A-Z][a-z]+(?:[A-Z][a-z]+)+   # RoleTable
        | [a-z]+(?:[A-Z][a-z]+)+        # listChanged
        | [a-z]+:[a-z]+                 # ops:deploy
        | WWW-Authenticate
    )\b""",
    re.VERBOSE,
)


def prose(text: str) -> str:
    """Plain text as Markdown: names of methods, tools and types in code, every other special character escaped."""
    done = 0
    pieces = []
    for match in _TECHNICAL.finditer(text):
        pieces += [_escaped(text[done : match.start()]), f"`{match[0]}`"]
        done = match.end()
    return "".join([*pieces, _escaped(text[done:])])


def _escaped(text: str) -> str:
    return _SPECIAL_IN_PROSE.sub(r"\\\g<0>", text)


def code(text: str) -> str:
    """The text as a Markdown code span on one line, whatever backticks it holds."""
    line = " ".join(text.split())
    fence = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def cell(text: str) -> str:
    """Markdown for a table cell: no bar, no line break."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def fenced(text: str, language: str) -> str:
    """The text as a fenced block, with a fence that the text cannot close."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def in_diagram(text: str) -> str:
    """The text of a mermaid message or note: what would end or change it, as entity codes such as `#59;`."""
    return _SPECIAL_IN_DIAGRAMS.sub(lambda match: f"#{ord(match[0])};", text)


def in_html(text: str) -> str:
    """The text between two HTML tags."""
    return html.escape(text, quote=False)


def anchor(heading: str) -> str:
    """The fragment that GitHub gives a heading: lower case, no punctuation, dashes for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
