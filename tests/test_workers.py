"""That tests beside each other neither collide nor do what is expensive twice."""

import threading

from limen.addon.core.dataset import exclusive
from workers import group_of, make_once


def test_a_file_stays_in_one_worker_and_a_real_blender_too():
    blenders = ("blender-4", "blender-4b")
    assert group_of("tests/scene/test_views.py::test_a[1-2]", blenders) == (
        "tests/scene/test_views.py"
    )
    for test in ("test_render.py::test_a[blender-4-full]", "test_window.py::test_b[blender-4]"):
        assert group_of(f"tests/real_blender/{test}", blenders) == "blender-4"
    assert group_of("tests/real_blender/test_x.py::test_c[blender-4b]", blenders) == "blender-4b"


def test_what_is_shared_is_made_by_the_first_and_waited_for_by_the_others(tmp_path):
    made = []
    started = threading.Event()

    def make(folder):
        started.set()
        folder.mkdir()
        made.append(folder)

    def ask():
        return make_once(tmp_path / "shared", make)

    others = [threading.Thread(target=ask) for _ in range(3)]
    with exclusive(tmp_path / "shared.lock"):  # as if one were at it
        for other in others:
            other.start()
        assert not started.wait(0.3)
    for other in others:
        other.join()
    assert made == [tmp_path / "shared"]
    assert ask() == made[0]
    assert len(made) == 1
