"""Answers out of bytes that come in any pieces."""

from typing import Any

import pytest
from redis.exceptions import ResponseError

from scheduler.stores.resp import Answers, packed

WHOLE = b"+OK\r\n:7\r\n$-1\r\n*-1\r\n$0\r\n\r\n*3\r\n$4\r\na\r\nb\r\n*1\r\n:-2\r\n*0\r\n$3\r\nend\r\n"
READ = [b"OK", 7, None, None, b"", [b"a\r\nb", [-2], []], b"end"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_answers_come_out_whole_and_in_order_whatever_the_pieces(size: int) -> None:
    answers, found = Answers(), []

    for at in range(0, len(WHOLE), size):
        found += answers.feed(WHOLE[at : at + size])

    assert found == READ


def test_a_long_answer_is_not_looked_at_again_with_every_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    monkeypatch.setattr("scheduler.stores.resp._read", _counting(looks))
    answers = Answers()
    answers.feed(b"$1000000\r\n")

    for _ in range(99):
        answers.feed(b"x" * 10_000)

    assert len(looks) == 1
    assert answers.feed(b"x" * 10_000 + b"\r\n") == [b"x" * 1_000_000]


def test_an_error_is_an_answer_of_its_own() -> None:
    (answer,) = Answers().feed(b"-ERR wrong\r\n")

    assert isinstance(answer, ResponseError)
    assert str(answer) == "ERR wrong"


def test_bytes_that_are_no_answer_are_refused() -> None:
    with pytest.raises(ResponseError):
        Answers().feed(b"HTTP/1.1 400 Bad Request\r\n")


def test_a_command_is_a_list_of_its_parts() -> None:
    assert packed(["SET", "ключ", b"\x00\r\n", 12]) == b"*4\r\n$3\r\nSET\r\n$8\r\n" + "ключ".encode() + (
        b"\r\n$3\r\n\x00\r\n\r\n$2\r\n12\r\n"
    )


def _counting(looks: list[int]) -> Any:
    from scheduler.stores import resp

    read = resp._read

    def look(buffer: bytes, at: int) -> Any:
        looks.append(at)
        return read(buffer, at)

    return look
