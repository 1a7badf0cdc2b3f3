"""The clause report: what the drafts ask of a server, looked at from outside.

`catalogue` has the clauses, `survey` looks at a server with the `probes`, `verdicts` sums up, `telling` says it as
text.
"""

from demo.clauses.catalogue import CLAUSES, Clause, clause_of
from demo.clauses.survey import CallerRefused, Survey, survey
from demo.clauses.verdicts import Fault, Verdict

__all__ = ["CLAUSES", "CallerRefused", "Clause", "Fault", "Survey", "Verdict", "clause_of", "survey"]
