"""Which views a run renders: a partition over shards, backgrounds kept together."""

from collections import defaultdict
from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st
from limen.addon.core.factors import ViewSpec, view_id
from limen.batch.plan import plan_jobs

BACKGROUND = ("scenery", "distance_m", "azimuth_deg", "elevation_deg")


def spec(scenery, distance_m, azimuth_deg, elevation_deg, action) -> ViewSpec:
    factors = {
        "action": action,
        "pose": action and f"{action}-1",
        "scenery": scenery,
        "distance_m": distance_m,
        "azimuth_deg": azimuth_deg,
        "elevation_deg": elevation_deg,
        "subject": action and "sam",
        "texture": action and "plain",
    }
    return ViewSpec(view_id("visibility", factors), "visibility", factors, "cam000", bool(action))


studies = st.lists(
    st.builds(
        spec,
        st.sampled_from(["desert", "field"]),
        st.sampled_from([5.376, 10.752]),
        st.sampled_from([0.0, 45.0, 225.0]),
        st.sampled_from([0.0, 22.5]),
        st.sampled_from([None, "walking", "kicking"]),
    ),
    min_size=1,
    max_size=40,
    unique_by=lambda view: view.view_id,
)
shard_counts = st.integers(1, 6)


def background(view: ViewSpec) -> tuple:
    return tuple(view.factors[name] for name in BACKGROUND)


def ids(jobs) -> list[str]:
    return [job.spec.view_id for job in jobs]


@given(studies, shard_counts)
def test_shards_render_every_view_once(specs, count):
    planned = [job for i in range(count) for job in plan_jobs(specs, shard=(i, count))[0]]
    assert sorted(ids(planned)) == sorted(view.view_id for view in specs)


@given(studies)
def test_a_jobs_number_is_its_views_place_in_the_study(specs):
    jobs, _ = plan_jobs(specs)
    assert all(specs[job.number - 1] is job.spec for job in jobs)


@given(studies, shard_counts)
def test_views_of_one_background_follow_each_other_in_one_shard(specs, count):
    shards_of = defaultdict(set)
    for i in range(count):
        seen = [background(job.spec) for job in plan_jobs(specs, shard=(i, count))[0]]
        assert len(list(groupby(seen))) == len(set(seen))
        for key in seen:
            shards_of[key].add(i)
    assert all(len(shards) == 1 for shards in shards_of.values())


@given(studies, shard_counts)
def test_no_shard_is_longer_than_another_by_more_than_a_background(specs, count):
    lengths = [len(plan_jobs(specs, shard=(i, count))[0]) for i in range(count)]
    backgrounds = defaultdict(int)
    for view in specs:
        backgrounds[background(view)] += 1
    assert max(lengths) - min(lengths) <= max(backgrounds.values())


@given(studies, shard_counts, st.data())
def test_what_is_done_is_left_out_and_counted(specs, count, data):
    every = [view.view_id for view in specs]
    done = set(data.draw(st.lists(st.sampled_from(every), unique=True)))
    for i in range(count):
        fresh, _ = plan_jobs(specs, shard=(i, count))
        left, already = plan_jobs(specs, done, (i, count))
        assert ids(left) == [name for name in ids(fresh) if name not in done]
        assert already == len(fresh) - len(left)


@given(studies, st.integers(1, 50))
def test_a_limit_takes_the_first_views_of_the_study(specs, limit):
    jobs, _ = plan_jobs(specs, limit=limit)
    assert {job.number for job in jobs} == set(range(1, min(limit, len(specs)) + 1))


@given(studies, shard_counts)
def test_ids_of_other_datasets_do_not_count_as_done(specs, count):
    assert plan_jobs(specs, {"v000000000000"}, (0, count)) == plan_jobs(specs, (), (0, count))
