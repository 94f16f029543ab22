"""The heads of answers."""

from kubemoot_web.gateway.heads import passed_down, placement


def test_no_name_of_anything_breaks_a_head_or_adds_a_line_to_it():
    told = "a\r\nx-evil: 1\x00é"

    assert placement(call=told, request_id=told, placed=None) == [
        (b"x-kubemoot-call", b"a??x-evil: 1??"),
        (b"x-request-id", b"a??x-evil: 1??"),
    ]
    assert passed_down((("x-request-id", told),)) == [(b"x-request-id", b"a??x-evil: 1??")]


def test_of_an_engines_head_only_what_it_calls_and_measures_goes_on():
    said = (
        ("x-request-id", "r-1"),
        ("openai-processing-ms", "5"),
        ("server", "x"),
        ("connection", "x"),
        ("set-cookie", "x"),
    )

    assert passed_down(said) == [(b"x-request-id", b"r-1"), (b"openai-processing-ms", b"5")]
