"""C84: element ids made from names collide, and updates land on the wrong card."""

from hypothesis import given
from hypothesis import strategies as st

from kubemoot_web.board.ids import dom_id, natural


def test_an_id_shows_the_name_it_is_made_of():
    assert dom_id("server", "gpu-1") == "server-gpu-1"


def test_names_that_look_alike_have_ids_of_their_own():
    names = ["team-a/ollama", "team-b/ollama", "team-a/gpu.1", "team-a/gpu-1", "team-a-gpu-1", "gpu_1", "gpu_2e_1"]

    ids = [dom_id("server", name) for name in names]

    assert len(set(ids)) == len(names)
    assert ids[2] == "server-team-a_2f_gpu_2e_1"


@given(st.lists(st.text(alphabet="ab1._-/\"'><é_2e", max_size=6), min_size=2, max_size=2, unique=True))
def test_two_names_never_share_an_id_and_no_id_needs_escaping(names):
    first, second = (dom_id("server", name) for name in names)

    assert first != second
    assert all(c.isascii() and (c.isalnum() or c in "-_") for c in first + second)


def test_names_with_numbers_are_listed_as_people_count():
    names = ["gpu-10", "team-b/gpu-1", "gpu-2", "gpu", "gpu-1", "4090", "gpu-1a"]

    assert sorted(names, key=natural) == ["gpu", "gpu-1", "gpu-1a", "gpu-2", "gpu-10", "team-b/gpu-1", "4090"]
