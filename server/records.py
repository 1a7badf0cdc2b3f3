"""What the demo's tools know: made-up pipelines and invoices that never change.

Owns the data. It leaves all questions about it to `tools`.
"""

from typing import Final, Literal

from pydantic import BaseModel, Field

__all__ = ["INVOICES", "PIPELINES", "Invoice", "Pipeline", "log_of"]


class Pipeline(BaseModel):
    """A pipeline that failed."""

    id: str
    branch: str
    stage: str
    failed_at: str = Field(description="When it failed: ISO 8601, UTC.")
    error: str


class Invoice(BaseModel):
    """An invoice."""

    id: str
    customer: str
    amount: str = Field(description="In units of the currency, with a decimal point.")
    currency: str
    status: Literal["open", "paid", "overdue"]
    due: str = Field(description="ISO 8601 date.")


PIPELINES: Final = (
    Pipeline(
        id="pl-1042",
        branch="main",
        stage="test",
        failed_at="2026-09-01T08:14:00Z",
        error="2 of 318 tests failed",
    ),
    Pipeline(
        id="pl-1038",
        branch="main",
        stage="lint",
        failed_at="2026-08-31T16:40:00Z",
        error="unused import in api/routes.py",
    ),
    Pipeline(
        id="pl-1031",
        branch="feature/search",
        stage="build",
        failed_at="2026-08-30T11:05:00Z",
        error="the image could not be built",
    ),
)

_LOG_ENDS: Final = {
    "pl-1042": (
        "FAILED tests/test_checkout.py::test_total_includes_tax - assert 119.0 == 120.0",
        "FAILED tests/test_checkout.py::test_total_is_rounded - assert 119.99 == 120.0",
        "2 failed, 316 passed in 41.80s",
    ),
    "pl-1038": (
        "api/routes.py:7:8: F401 `json` imported but unused",
        "Found 1 error.",
    ),
    "pl-1031": (
        "step 6/9: RUN make assets",
        "make: *** No rule to make target 'assets'.  Stop.",
        "the build ended with exit code 2",
    ),
}

INVOICES: Final = (
    Invoice(id="inv-2207", customer="Northwind", amount="1240.00", currency="EUR", status="open", due="2026-09-30"),
    Invoice(id="inv-2198", customer="Contoso", amount="310.50", currency="USD", status="overdue", due="2026-08-15"),
    Invoice(id="inv-2190", customer="Northwind", amount="980.00", currency="EUR", status="paid", due="2026-08-01"),
)


def log_of(pipeline: Pipeline) -> list[str]:
    """The whole log of a pipeline, line by line."""
    steps = [f"step {step}: ok" for step in range(1, 25)]
    return [f"pipeline {pipeline.id} on {pipeline.branch}", f"stage {pipeline.stage}", *steps, *_LOG_ENDS[pipeline.id]]
