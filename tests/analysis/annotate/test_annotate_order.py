"""The order of trials: random for each annotator, every image once, some again, far apart."""

from hypothesis import given, settings
from hypothesis import strategies as st
from limen.analysis.annotate.order import GAP, trial_order


def views(n, per_view):
    return [f"v{i // per_view}" for i in range(n)]


@given(
    n=st.integers(1, 150),
    per_view=st.integers(1, 4),
    seed=st.integers(0, 5),
    repeats=st.floats(0, 1),
)
@settings(max_examples=60, deadline=None)
def test_every_image_comes_once_and_the_wanted_share_again_later(n, per_view, seed, repeats):
    order = trial_order(views(n, per_view), seed, "anna", repeats)
    first = [item for item, showing in order if showing == 0]
    again = [item for item, showing in order if showing == 1]
    assert sorted(first) == list(range(n))
    assert len(set(again)) == len(again) <= round(repeats * n)
    assert all(order.index((item, 0)) < order.index((item, 1)) for item in again)
    if n > 2 * GAP and repeats <= 0.4:
        assert len(again) == round(repeats * n)


@given(seed=st.integers(0, 50))
@settings(max_examples=20, deadline=None)
def test_images_of_one_view_are_kept_apart(seed):
    of_item = views(300, 3)
    order = trial_order(of_item, seed, "anna", 0.05)
    places = {}
    close = 0
    for place, (item, _) in enumerate(order):
        close += place - places.get(of_item[item], -999) <= GAP
        places[of_item[item]] = place
    assert close <= 3  # of 315: a repeat at the very end can lack others behind it


def test_the_order_is_the_annotators_own_and_stays():
    of_item = views(60, 1)
    assert trial_order(of_item, 0, "anna", 0.1) == trial_order(of_item, 0, "anna", 0.1)
    assert trial_order(of_item, 0, "anna", 0.1) != trial_order(of_item, 0, "berta", 0.1)
    assert trial_order(of_item, 0, "anna", 0.1) != trial_order(of_item, 1, "anna", 0.1)


def test_where_one_view_is_all_there_is_its_images_come_all_the_same():
    order = trial_order(["v"] * 5, 0, "anna", 1.0)
    assert sorted(order) == [(item, showing) for item in range(5) for showing in (0, 1)]
