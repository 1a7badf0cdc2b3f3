"""Versions of the extension as values."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_discovery.versions import (
    DEFAULT_VERSION,
    InvalidVersion,
    Version,
    choose,
    declared_version,
    effective_version,
    one_per_major,
)

numbers = st.integers(min_value=0, max_value=999_999_999)
versions = st.builds(Version, numbers, numbers, numbers)


@given(versions)
def test_a_version_reads_back_from_its_text(version: Version) -> None:
    assert Version.parse(str(version)) == version


@pytest.mark.parametrize(
    "text",
    [
        *("", "1", "1.0", "1.0.0.0", "v1.0.0", "1.0.0-beta", "01.0.0", "1. 0.0", "1.0.0\n", "-1.0.0", "1.0.x"),
        *("\u0661.0.0", "1.0." + "9" * 5000, None, 1, 1.0, True, ["1.0.0"], {"major": 1}),
    ],
)
def test_what_is_not_three_plain_numbers_is_refused_in_one_short_line(text: object) -> None:
    with pytest.raises(InvalidVersion, match=r"MAJOR\.MINOR\.PATCH, got .*'1\.0\.0'") as caught:
        Version.parse(text)
    assert caught.value.value is text
    assert len(str(caught.value)) < 160


@pytest.mark.parametrize("part", [-1, True, 1_000_000_000, "1"])
def test_a_version_cannot_be_made_of_other_parts(part: Any) -> None:
    with pytest.raises(InvalidVersion, match="integers from 0"):
        Version(1, part, 0)


def test_versions_are_ordered_by_number_and_not_by_text() -> None:
    assert Version(1, 9, 0) < Version(1, 10, 0) < Version(2, 0, 0)


@pytest.mark.parametrize("settings", [None, {}, {"listChanged": True}])
def test_no_version_means_the_first(settings: dict[str, Any] | None) -> None:
    """EV-2."""
    assert declared_version(settings) == DEFAULT_VERSION == Version(1, 0, 0)


def test_a_declared_version_is_read() -> None:
    assert declared_version({"version": "2.3.4"}) == Version(2, 3, 4)


@pytest.mark.parametrize("version", [None, "1.0", 2, {}])
def test_a_malformed_declaration_is_not_taken_for_the_first(version: object) -> None:
    with pytest.raises(InvalidVersion):
        declared_version({"version": version})


def test_two_versions_of_one_major_may_not_stand_together() -> None:
    """EV-3."""
    with pytest.raises(InvalidVersion, match=r"one entry per major, got 1\.0\.0 and 1\.2\.0"):
        one_per_major([Version(1, 2, 0), Version(2), Version(1)])
    with pytest.raises(InvalidVersion, match="at least one"):
        one_per_major([])
    assert one_per_major([Version(2), Version(1, 2, 0)]) == (Version(1, 2, 0), Version(2))


def test_the_highest_shared_major_is_chosen_as_the_caller_speaks_it() -> None:
    ours = [Version(1, 2, 0), Version(2), Version(3)]
    assert choose(ours, [Version(1), Version(2, 7, 1)]) == Version(2)
    assert choose(ours, [Version(4)]) is None
    assert choose([], [Version(1)]) is None


@given(versions, versions, st.lists(versions))
def test_minors_and_patches_never_decide(version: Version, other: Version, wanted: list[Version]) -> None:
    """EV-6."""
    twin = Version(version.major, other.minor, other.patch)
    assert (choose([version], [twin, *wanted])) == version


@pytest.mark.parametrize(
    ("offered", "effective"),
    [
        (None, Version(2, 0, 0)),
        ([], Version(2, 0, 0)),
        ([Version(1, 9, 0)], Version(2, 0, 0)),
        ([Version(1, 9, 0), Version(2, 1, 5)], Version(2, 1, 5)),
        ([Version(2, 8, 0)], Version(2, 3, 0)),
    ],
)
def test_one_relies_on_the_lower_of_both_sides_and_on_the_dot_zero_where_the_other_is_unknown(
    offered: list[Version] | None, effective: Version
) -> None:
    """EV-12."""
    assert effective_version(Version(2, 3, 0), offered) == effective
