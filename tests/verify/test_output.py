"""What a container writes → the document between the markers, however it arrives."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagepins.verify.container import OUTPUT_LIMIT, TAIL, _between

MARK = "--imagepins-aa--"


def cut(data: bytes, *, every: int) -> Iterator[tuple[bytes | None, bytes | None]]:
    yield from ((data[at : at + every], None) for at in range(0, len(data), every))


@given(st.binary(max_size=60), st.text("-imagepins{}", max_size=60), st.binary(max_size=20), st.integers(1, 40))
def test_the_document_is_found_however_the_output_is_cut(before: bytes, text: str, after: bytes, every: int) -> None:
    if MARK in text:
        text = text.replace(MARK, "")
    whole = before.replace(MARK.encode(), b"") + f"\n{MARK}\n{text}\n{MARK}\n".encode() + after
    found = _between(cut(whole, every=every), MARK)
    assert (found.document, found.tail, found.is_endless) == (f"\n{text}\n", "", False)


@pytest.mark.timeout(120)  # read again for every part, it takes twenty minutes
def test_an_answer_in_many_small_parts_is_read_in_time() -> None:
    answer = b"x" * (OUTPUT_LIMIT // 2)
    found = _between(cut(MARK.encode() + answer + MARK.encode(), every=128), MARK)
    assert found.document == answer.decode()


def test_output_without_an_end_is_given_up() -> None:
    assert _between(iter([(MARK.encode(), None), (b"x" * (OUTPUT_LIMIT + 1), None)]), MARK).is_endless


def test_without_an_answer_the_end_of_what_was_written_is_kept() -> None:
    found = _between(iter([(b"a" * TAIL, None), (None, b"Traceback"), (b"", b": no module")]), MARK)
    assert (len(found.tail), found.tail[-20:]) == (TAIL, "Traceback: no module")
