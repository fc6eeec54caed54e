"""Versions compare as values: by numbers, not by characters."""

import pytest

from imagepins.versions import matches, satisfies


@pytest.mark.parametrize(
    ("found", "operator", "wanted", "expected"),
    [
        ("7.9", "<", "7.10", True),
        ("2.30.7", "<", "2.32", True),
        ("2.32", "<", "2.32", False),
        ("2.12.0+rocm10.0.0", "<=", "2.12.0", True),
        ("2.12.0+rocm10.0.0", ">", "2.12.0", False),
        ("v0.1.24.post1", ">", "0.1.24", True),
        ("1.2.3rc1", "<", "1.2.3", True),
        (None, ">=", "0", False),
        ("", "<", "1", False),
        ("not-a-version", "!=", "1", False),
        ("7.16.26361", "==", "7.16", True),
        ("7.16.26361", "!=", "7.16", False),
    ],
)
def test_satisfies(found: str | None, operator: str, wanted: str, expected: bool) -> None:
    assert satisfies(found, operator, wanted) is expected


@pytest.mark.parametrize(
    ("expected", "found", "result"),
    [
        ("7.16", "7.16.26361", True),
        ("7.1", "7.16.26361", False),
        ("2.13.4", "2.13.4", True),
        ("2.13.5", "2.13.4", False),
        ("2.13.4", "2.13", False),
        ("2.13.0", "2.13", True),
        ("2.12.0", "2.12.0+rocm10.0.0", True),
        ("2.12.0+rocm10.0.0", "2.12.0", False),
        ("2.12.0+rocm10.0.0", "2.12.0+rocm7.2", False),
        ("1.0", "1.0rc1", False),
        ("1.117.5-a-77", "1.117.5-a-77", True),
        ("1.117.5-a-77", "1.117.5-a-78", False),
    ],
)
def test_matches(expected: str, found: str, result: bool) -> None:
    assert matches(expected, found) is result
