"""The study file: loading, faults, resolving, saving."""

import itertools
import math
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from any_study import LIBRARY, PRESETS, studies
from hypothesis import given, settings
from hypothesis import strategies as st
from limen.addon.core import toml_text
from limen.addon.core.factors import poses_by_action, sample_views
from limen.addon.core.lighting import Component, Lighting
from limen.addon.core.study import (
    CameraSetup,
    Outputs,
    RenderSettings,
    Sampling,
    Study,
    StudyError,
    Subject,
    dump_study,
    load_study,
    parse_study,
    resolve,
    save_study,
    with_distances,
)

STUDIES = Path(__file__).parents[2] / "studies"

SMALL = """\
name = "small"
seed = 1
lightings = ["noon_south"]
sceneries = ["desert"]
actions = ["walking"]

[camera]
sensor = "syndorbench"
distances_m = [5.376]
azimuths_deg = [0, 90]
elevations_deg = [0]

[[subject]]
name = "ada"

[sampling]
views = 2
"""


def changed(old, new, text=SMALL):
    """The small study with one passage replaced, which must be there."""
    assert text.count(old) == 1
    return text.replace(old, new)


def problems(text):
    with pytest.raises(StudyError) as caught:
        parse_study(text, "studies/x.toml")
    return caught.value.problems


def problem(text):
    (only,) = problems(text)
    return only


# --- loading -------------------------------------------------------------------------------------


def test_a_small_study_loads_with_the_documented_defaults():
    assert parse_study(SMALL) == Study(
        name="small",
        family="visibility",
        seed=1,
        camera=CameraSetup(
            sensor="syndorbench",
            sensor_width_mm=16 / 3,
            sensor_height_mm=3.0,
            lens_mm=2.8,
            fnumber=1.4,
            resolution=(1920, 1080),
            distances_m=(5.376,),
            azimuths_deg=(0.0, 90.0),
            elevations_deg=(0.0,),
            window=None,
            look_at_height_m=0.9,
            shutter_limit_s=0.04,
            iso=250.0,
        ),
        lightings=(PRESETS["noon_south"],),
        sceneries=("desert",),
        subjects=(Subject("ada", "neutral", "", (), 0.0, ("plain",)),),
        actions=("walking",),
        poses=(),
        sampling=Sampling(2, "all"),
        render=RenderSettings("fast", 32, "oidn"),
        outputs=Outputs(True, True, True),
    )


def test_bands_become_the_published_distances():
    text = changed("distances_m = [5.376]", 'bands = ["recognise", "observe", "detect"]')
    assert parse_study(text).camera.distances_m == (5.376, 10.752, 23.04)


def test_densities_become_distances():
    text = changed("distances_m = [5.376]", "densities_px_per_m = [252, 1008]")
    assert parse_study(text).camera.distances_m == (4.0, 1.0)  # focal length: 1008 px


def test_bands_are_those_of_the_scale():
    text = changed("distances_m = [5.376]", 'scale = "classes-2025"\nbands = ["discern"]')
    assert parse_study(text).camera.distances_m == (1008 / 102.5,)


def test_a_lighting_of_ones_own_rescales_a_preset():
    text = SMALL + '[[lighting]]\nname = "dim"\nbase = "noon_south"\nilluminance_lx = 10\n'
    own = parse_study(text).lightings[1]
    assert own == replace(PRESETS["noon_south"], name="dim", illuminance_lx=10.0)


def test_a_lighting_can_be_written_out():
    text = (
        SMALL
        + '[[lighting]]\nname = "flat"\nband = "night"\nilluminance_lx = 0.5\n'
        + 'components = [{ layer = "dome-uniform", share = 1 }]\n'
    )
    flat = parse_study(text).lightings[1]
    assert flat == Lighting("flat", "night", 0.5, (Component("dome-uniform", 1.0),))


def test_a_colour_is_normalised_to_luminance_1_and_reads_back_so():
    table = '[[lighting]]\nname = "red"\nband = "night"\nilluminance_lx = 1\ncomponents = '
    part = '[{ layer = "dome-uniform", share = 1, colour = [9, 3, 1] }]\n'
    study = parse_study(SMALL + table + part)
    red = study.lightings[1].components[0].colour
    # 9 x 0.2126 + 3 x 0.7152 + 0.0722 = 4.1312
    assert red == (2.178544, 0.726181, 0.24206)
    assert parse_study(dump_study(study)).lightings[1] == study.lightings[1]


def test_a_preset_sensor_takes_another_lens():
    text = changed("distances_m = [5.376]", 'lens_mm = 5.6\nbands = ["recognise"]')
    assert parse_study(text).camera.distances_m == (10.752,)


def test_one_side_of_an_own_sensor_gives_the_other():
    own = "sensor_height_mm = 3.0\nlens_mm = 4\nfnumber = 2\nresolution = [1600, 1200]"
    camera = parse_study(changed('sensor = "syndorbench"', own)).camera
    assert (camera.sensor, camera.sensor_width_mm) == ("own", 4.0)


# --- faults --------------------------------------------------------------------------------------


def test_a_fault_says_what_was_found_what_is_allowed_and_where():
    text = changed("azimuths_deg", "fnumber = 0\nazimuths_deg")
    assert problem(text) == (
        "Study camera.fnumber is 0: an f-number is at least 0.1, as in fnumber = 1.4 "
        "(studies/x.toml:10)"
    )


def test_every_fault_is_listed_in_the_order_of_the_file():
    text = changed('name = "small"', 'name = ""')
    text = changed("seed = 1", "seed = -1", text)
    text = changed("[0, 90]", "[0, 400]", text)
    text = changed("views = 2", "views = 2.5", text)
    assert [p.split(" is ")[0] for p in problems(text)] == [
        "Study name",
        "Study seed",
        "Study camera.azimuths_deg[1]",
        "Study sampling.views",
    ]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("seed = 1", "seed = true", "seed is true: a seed is a whole number"),
        ("seed = 1", "seed = 1.0", "seed is 1.0: a seed is a whole number"),
        ("seed = 1", "seed = 9223372036854775808", "seed is 9223372036854775808: .* at most"),
        ("seed = 1", "seed = 0x" + "f" * 5000, "seed is a number of thousands of digits"),
        ("seed = 1", 'seed = "1"', 'seed is "1": a seed is a whole number'),
        ("seed = 1", "seed = 1979-05-27", "seed is 1979-05-27: a seed is a whole number"),
        ('name = "small"', 'name = "a b"', 'name is "a b": a study\'s name is 1 to 64 letters'),
        ("[5.376]", "[]", r"distances_m is \[\]: it is a list of at least one"),
        ("[5.376]", "5.376", r"distances_m is 5.376: it is a list"),
        ("[5.376]", "[nan]", r"distances_m\[0\] is nan: a distance in metres is a number"),
        ("[5.376]", "[inf]", r"distances_m\[0\] is inf: a distance in metres is at most 2000"),
        ("[5.376]", "[1e300]", r"distances_m\[0\] is 1e\+300: .* at most 2000"),
        ("[5.376]", "[-3]", r"distances_m\[0\] is -3: a distance in metres is at least 1"),
        ("[0, 90]", "[0, 90, 0]", r"azimuths_deg\[2\] is 0 like item 0: leave one of them out"),
        ("[0, 90]", "[true]", r"azimuths_deg\[0\] is true"),
        ('["walking"]', '["wlaking"]', r'actions\[0\] is "wlaking": .* did you mean walking\?'),
        ('["walking"]', '["walking", "walking"]', r"actions\[1\] is \"walking\" like item 0"),
        ('["desert"]', '["dessert"]', r"sceneries\[0\] .* did you mean desert\?"),
        ('["noon_south"]', '["noon_sout"]', r"lightings\[0\] .* did you mean noon_south\?"),
        ('["noon_south"]', "[]", "lightings is empty: a study has at least one lighting"),
        ('"syndorbench"', '"syndorbensch"', "camera.sensor .* did you mean syndorbench"),
        ("views = 2", "views = 0", "sampling.views is 0: a number of views is at least 1"),
        ("views = 2", 'views = "al"', 'sampling.views is "al": .* or "all"'),
        ("views = 2", "views = 2\nperson_free = 1", "person_free is 1: .* at most 0.99"),
    ],
)
def test_impossible_values_are_told_what_is_allowed(old, new, says):
    said = problem(changed(old, new))
    assert re.match(rf"Study (camera\.|sampling\.)?{says}", said), said


def test_a_value_in_the_place_of_a_table_is_a_fault():
    text = "sampling = 3\n" + changed("[sampling]\nviews = 2\n", "")
    assert problem(text).startswith("Study sampling is 3: it is a table, as in [sampling]")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("seed = 1", "seed = 1\nsed = 2", "sed is no key of the file: did you mean seed?"),
        ("views = 2", "views = 2\nview = 3", "sampling.view is no key of [sampling]: did"),
        ('name = "ada"', 'name = "ada"\nbeta = []', "subject[0].beta is no key of [subject[0]]"),
    ],
)
def test_an_unknown_key_is_told_its_near_miss(old, new, says):
    assert problem(changed(old, new)).startswith(f"Study {says}")


def test_a_missing_key_is_told_with_an_example():
    assert problem(changed("seed = 1\n", "")).startswith("Study seed is missing: a seed is")
    assert "[[subject]]" in problem(changed('[[subject]]\nname = "ada"\n', ""))


def test_an_empty_file_misses_what_a_study_needs():
    missing = {p.split()[1] for p in problems("")}
    assert missing == {"name", "seed", "camera", "lightings", "sceneries", "actions", "subject"}


@pytest.mark.parametrize("family", ["nuisance", "verification", "temporal"])
def test_a_family_to_come_is_told_so(family):
    text = changed("seed = 1", f'seed = 1\nfamily = "{family}"')
    assert "not built yet: built is visibility" in problem(text)


def test_an_unknown_family_is_told_the_known_ones():
    text = changed("seed = 1", 'seed = 1\nfamily = "visiblity"')
    assert "did you mean visibility?" in problem(text)


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        ("window = [401, 400]", "camera.window is [401, 400]: a window 401 pixels wide is no"),
        ("window = [400]", "camera.window is [400]: a window is [width, height] in pixels"),
        ("resolution = [1000, 1000]", "camera.resolution is [1000, 1000]: a sensor of"),
        ("sensor_width_mm = 6", 'camera.sensor_width_mm is 6, but sensor "syndorbench" has 5'),
        ('bands = ["detect"]', "camera.bands has distances_m and bands: give one of"),
        ('scale = "dori"', 'camera.scale is "dori": a scale is one of these; did'),
        ("look_at_height_m = -1", "camera.look_at_height_m is -1: a look-at height in metres is"),
    ],
)
def test_a_camera_that_does_not_fit_together_is_told_why(extra, says):
    assert problem(changed("elevations_deg", f"{extra}\nelevations_deg")).startswith(
        f"Study {says}"
    )


def test_the_highest_class_is_no_band():
    text = changed("distances_m = [5.376]", 'bands = ["identify"]')
    assert problem(text).endswith("allowed: detect, observe, recognise (studies/x.toml:9)")


def test_no_distances_at_all_is_a_fault():
    text = changed("distances_m = [5.376]\n", "")
    assert "has no distances: give one of distances_m, bands" in problem(text)


def test_a_camera_below_the_ground_is_a_fault():
    text = changed("elevations_deg = [0]", "elevations_deg = [0, -30]")
    assert "elevations_deg[1] is -30: at 5.376 m the camera would stand 1.79 m below" in problem(
        text
    )


def test_more_views_than_there_are_is_a_fault():
    text = changed("views = 2", "views = 99")
    assert "sampling.views is 99: of the 12 views that these factors hold" in problem(text)


def test_more_person_free_views_than_backgrounds_are_a_fault():
    text = changed("views = 2", "views = 6\nperson_free = 0.5")
    assert "sampling.person_free is 0.5: beside 6 views with a person that is 6" in problem(text)


def test_two_subjects_of_one_name_are_a_fault():
    text = SMALL + '[[subject]]\nname = "ada"\n'
    assert problem(text).startswith('Study subject[1].name is "ada", which another subject has')


def test_an_own_lighting_needs_a_name_of_its_own():
    text = SMALL + '[[lighting]]\nname = "noon_south"\nbase = "night"\n'
    assert problem(text).startswith('Study lighting[0].name is "noon_south", which the study')


@pytest.mark.parametrize(
    ("components", "says"),
    [
        ("[]", "components is []: it is a list of at least one"),
        ('[{ layer = "dome", share = 1 }]', 'components[0].layer is "dome"'),
        ('[{ layer = "dome-uniform", share = 2 }]', "components[0].share is 2: a share"),
        ('[{ layer = "dome-uniform", share = 0.5 }]', "components cannot be used"),
        ('[{ layer = "dome-uniform", share = 1, colour = [0, 0, 0] }]', "components[0].colour is"),
        ('[{ layer = "dome-uniform", share = 1, color = [1, 1, 1] }]', "components[0].color is"),
    ],
)
def test_a_faulty_component_is_named(components, says):
    table = (
        f'[[lighting]]\nname = "x"\nband = "day"\nilluminance_lx = 1\ncomponents = {components}\n'
    )
    assert problem(SMALL + table).startswith(f"Study lighting[0].{says}")


def test_a_study_names_the_mirror_image_of_a_pose_and_all_poses_are_those_without():
    pose = next(name for name, action in LIBRARY.items() if action == "walking")
    listed = f'poses = ["{pose}", "{pose}_mirrored"]'
    study = parse_study(changed('actions = ["walking"]', f'actions = ["walking"]\n{listed}'))
    assert study.poses == (pose, f"{pose}_mirrored")
    assert parse_study(dump_study(study)).poses == study.poses
    views = sample_views(study, poses_by_action(study, LIBRARY))
    shown = {(v.factors["action"], v.factors["pose"]) for v in views if v.target_present}
    assert shown == {("walking", pose), ("walking", f"{pose}_mirrored")}
    every = resolve(parse_study(SMALL)).poses
    assert sorted(every) == sorted(p for p, action in LIBRARY.items() if action == "walking")


def test_the_mirror_image_of_a_pose_that_is_not_there_is_a_fault():
    listed = 'actions = ["walking"]\nposes = ["nobody_mirrored"]'
    assert 'poses[0] is "nobody_mirrored"' in problem(changed('actions = ["walking"]', listed))


def test_a_pose_of_another_action_is_a_fault():
    kick = next(name for name, action in LIBRARY.items() if action == "kicking")
    text = changed('actions = ["walking"]', f'actions = ["walking"]\nposes = ["{kick}"]')
    said = problems(text)
    assert f'poses[0] is "{kick}", a pose of kicking, which is none of the actions' in said[1]
    assert 'actions[0] is "walking", but poses lists none of it' in said[0]


def test_toml_that_cannot_be_parsed_says_where():
    assert problem("name = 'x'\nseed = = 1\n").endswith("(studies/x.toml:2, column 8)")
    assert "not valid TOML" in problem("seed = 1\nseed = 2\n")
    assert "at the end of the file" in problem('name = "x')
    assert "nested too deeply" in problem("x = " + "[" * 100_000)


def test_a_file_that_is_not_utf_8_says_which_byte(tmp_path):
    path = tmp_path / "latin.toml"
    path.write_bytes(b'name = "caf\xe9"\n')
    with pytest.raises(StudyError, match=r"not UTF-8 text \(byte 11 is 0xe9\): save it as UTF-8"):
        load_study(path)


def test_a_file_that_is_not_there_says_so(tmp_path):
    with pytest.raises(StudyError, match=r"none\.toml cannot be read: No such file"):
        load_study(tmp_path / "none.toml")


# --- the ready studies ---------------------------------------------------------------------------


def ready(name):
    study = load_study(STUDIES / f"{name}.toml")
    views = sample_views(study, poses_by_action(study, LIBRARY))
    persons = [view for view in views if view.target_present]
    return study, persons, len(views) - len(persons)


def test_the_paper_size_study_has_the_size_of_the_paper():
    study, persons, free = ready("paper-size")
    assert (len(persons), free, len(study.lightings)) == (1524, 288, 13)
    assert {lighting.name for lighting in study.lightings} == set(PRESETS)
    assert len({(v.factors["subject"], v.factors["pose"]) for v in persons}) >= 40


def test_the_limits_study_has_10_densities_from_5_to_250_and_8_decades_of_light():
    study, persons, free = ready("limits")
    assert (len(persons), free) == (120, 30)
    distances = study.camera.distances_m
    ratios = [b / a for a, b in itertools.pairwise(distances)]
    assert len(distances) == 10
    assert (1008 / distances[0], 1008 / distances[-1]) == pytest.approx((250, 5))
    assert ratios == pytest.approx([50 ** (1 / 9)] * 9, rel=1e-3)
    lux = [lighting.illuminance_lx for lighting in study.lightings]
    assert lux == pytest.approx([10_000 * 10 ** (-6 * i / 7) for i in range(8)], rel=5e-3)


def test_the_demo_study_is_small():
    study, persons, free = ready("demo")
    assert len(persons) == 18
    assert free <= 12
    assert len(study.lightings) == 4


def test_the_ci_study_shows_each_band_and_does_not_tie_actions_to_cameras():
    study, persons, free = ready("ci")
    assert (len(persons), free) == (4, 4)
    assert {lighting.band for lighting in study.lightings} == {"day", "evening", "night"}
    assert len({(v.factors["action"], v.factors["azimuth_deg"]) for v in persons}) == 4


# --- resolving and dumping -----------------------------------------------------------------------


@settings(deadline=None, max_examples=20)
@given(studies())
def test_a_dump_parses_to_the_resolved_study(study):
    resolved = resolve(study)
    assert parse_study(dump_study(study)) == resolved
    assert dump_study(resolved) == dump_study(study)
    assert resolve(resolved) == resolved


def test_resolving_draws_betas_from_seed_and_name():
    study = parse_study(changed('name = "ada"', 'name = "ada"\nbetas = "random"'))
    (betas,) = [subject.betas for subject in resolve(study).subjects]
    assert len(betas) == 10
    assert max(map(abs, betas)) <= 2
    other = replace(study, seed=2)
    assert resolve(other).subjects[0].betas != betas
    renamed = replace(study, subjects=(replace(study.subjects[0], name="eve"),))
    assert resolve(renamed).subjects[0].betas != betas


def test_resolving_keeps_the_drawn_views():
    study = load_study(STUDIES / "demo.toml")
    before, after = (sample_views(s, poses_by_action(s, LIBRARY)) for s in (study, resolve(study)))
    assert before == after


def test_a_dump_names_no_preset_that_is_not_written_out():
    dumped = tomllib.loads(dump_study(load_study(STUDIES / "demo.toml")))
    assert "lightings" not in dumped
    assert all(table["components"] for table in dumped["lighting"])
    assert dumped["camera"]["distances_m"] == [5.376, 10.752, 23.04]
    assert all(len(subject["betas"]) == 10 for subject in dumped["subject"])
    assert dumped["poses"]


# --- saving --------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=20)
@given(studies())
def test_a_saved_study_loads_as_it_was(tmp_path_factory, study):
    path = tmp_path_factory.mktemp("study") / "study.toml"
    save_study(study, path)
    assert load_study(path) == study


@settings(deadline=None, max_examples=15)
@given(studies(), studies())
def test_any_study_can_be_saved_over_any_other(tmp_path_factory, before, after):
    path = tmp_path_factory.mktemp("study") / "study.toml"
    save_study(before, path)
    save_study(after, path)
    assert load_study(path) == after


@settings(deadline=None, max_examples=12)
@given(studies(), st.sampled_from(["demo", "limits", "paper-size"]))
def test_any_study_can_be_saved_over_a_hand_written_one(tmp_path_factory, study, name):
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_bytes((STUDIES / f"{name}.toml").read_bytes())
    save_study(study, path)
    assert load_study(path) == study


@pytest.mark.parametrize("name", ["demo", "ci", "limits", "paper-size"])
def test_saving_without_edits_leaves_the_file_as_it_is_to_the_byte(tmp_path, name):
    path = tmp_path / "study.toml"
    path.write_bytes((STUDIES / f"{name}.toml").read_bytes())
    before = path.stat().st_mtime_ns, path.read_bytes()
    save_study(load_study(path), path)
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before


HAND_WRITTEN = """\
# my study
name = 'small'   # single quotes
seed = 1_000     # with a separator
lightings = [
    "noon_south",   # the sun
    "night",
]
sceneries = ["desert"]
actions = ["walking"]
camera.sensor = "syndorbench"
camera.azimuths_deg = [ 0, 90 ]   # dotted keys
camera.elevations_deg = [0]
camera.bands = ["recognise"]
sampling = { views = 2 }

# people
[[subject]]
name = "ada"  # front

[[subject]]
name = "ben"  # back
yaw_deg = 180
"""


def saved(tmp_path, edit, text=HAND_WRITTEN):
    """The hand-written file's lines that went and that came when an edited study is saved."""
    path = tmp_path / "study.toml"
    path.write_bytes(text.encode())
    study = edit(load_study(path))
    save_study(study, path)
    assert load_study(path) == study
    after = path.read_bytes().decode()
    old, new = text.splitlines(), after.splitlines()
    return [x for x in old if x not in new], [x for x in new if x not in old]


def test_saving_changes_only_the_edited_value(tmp_path):
    gone, came = saved(tmp_path, lambda s: replace(s, seed=7))
    assert gone == ["seed = 1_000     # with a separator"]
    assert came == ["seed = 7     # with a separator"]


def test_saving_edits_dotted_keys_and_inline_tables_where_they_stand(tmp_path):
    def edit(study):
        camera = replace(study.camera, azimuths_deg=(45.0,), iso=100.0)
        return replace(study, camera=camera, sampling=Sampling(3, 0.25))

    gone, came = saved(tmp_path, edit)
    assert gone == [
        "camera.azimuths_deg = [ 0, 90 ]   # dotted keys",
        "sampling = { views = 2 }",
    ]
    assert came == [
        "camera.azimuths_deg = [45]   # dotted keys",
        "camera.iso = 100",
        "sampling = { views = 3, person_free = 0.25 }",
    ]


def test_saving_adds_a_missing_table_at_the_end(tmp_path):
    gone, came = saved(tmp_path, lambda s: replace(s, render=RenderSettings("exact", 32, "oidn")))
    assert (gone, came) == ([], ["[render]", 'method = "exact"'])


def test_saving_replaces_bands_by_distances(tmp_path):
    def edit(study):
        return replace(study, camera=replace(study.camera, bands=(), distances_m=(3.0,)))

    gone, came = saved(tmp_path, edit)
    assert (gone, came) == (['camera.bands = ["recognise"]'], ["camera.distances_m = [3]"])


def test_saving_keeps_the_comments_of_subjects_that_stay(tmp_path):
    gone, came = saved(
        tmp_path, lambda s: replace(s, subjects=(s.subjects[1], Subject("eve", betas=(1.0,))))
    )
    assert 'name = "ben"  # back' not in gone
    assert gone == ['name = "ada"  # front']
    assert 'name = "eve"' in came


def test_saving_changes_a_lighting_to_one_of_its_own(tmp_path):
    def edit(study):
        noon, night = study.lightings
        return replace(study, lightings=(noon, replace(night, illuminance_lx=0.05, name="dark")))

    gone, came = saved(tmp_path, edit)
    assert '    "noon_south",   # the sun' in gone  # the list is rewritten as a whole
    assert [x for x in came if x] == [
        'lightings = ["noon_south"]',
        "[[lighting]]",
        'name = "dark"',
        'base = "night"',
        "illuminance_lx = 0.05",
    ]


def test_saving_keeps_windows_line_ends(tmp_path):
    text = HAND_WRITTEN.replace("\n", "\r\n")
    saved(tmp_path, lambda s: replace(s, seed=7, outputs=Outputs(depth=False)), text)
    written = (tmp_path / "study.toml").read_bytes()
    assert written.count(b"\n") == written.count(b"\r\n")


def test_saving_refuses_a_study_with_faults_and_leaves_the_file(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(SMALL)
    study = load_study(path)
    with pytest.raises(StudyError, match=r"camera\.fnumber is 0"):
        save_study(replace(study, camera=replace(study.camera, fnumber=0.0)), path)
    assert path.read_text() == SMALL
    assert list(tmp_path.iterdir()) == [path]


def test_saving_refuses_distances_that_contradict_the_bands(tmp_path):
    study = parse_study(changed("distances_m = [5.376]", 'bands = ["recognise"]'))
    zoomed = replace(study, camera=replace(study.camera, lens_mm=5.6))
    with pytest.raises(StudyError, match=r"not saved: camera\.distances_m is \(5\.376,\), but"):
        save_study(zoomed, tmp_path / "study.toml")
    save_study(replace(zoomed, camera=with_distances(zoomed.camera)), tmp_path / "study.toml")


def test_saving_does_not_overwrite_a_file_with_faults(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text("not TOML")
    with pytest.raises(StudyError, match="not valid TOML"):
        save_study(parse_study(SMALL), path)
    assert path.read_text() == "not TOML"


# --- locating keys in TOML -----------------------------------------------------------------------

# Long quotes are written as <dq> and <sq> here, to fit into one literal.
TRICKY = """\
# comment with [brackets] and key = value
top = 1
"quoted.key" = 'lit # no comment'
a.b.'c d' = <dq>
multi = "line" # not a key
[not.a.table]<dq> # after
list = [ # inside
  [1, 2], "x]", # comment ]
  { k = 1, "l" = '}' },
]
when = 1979-05-27 07:32:00
[ table . sub ]
x = 0xff
'' = 3
[[rows]]
n = 1
[rows.deep]
m = <sq>it's<sq>
[[rows]]
n = 2
""".replace("<dq>", 3 * '"').replace("<sq>", 3 * "'")


def test_every_key_of_a_tricky_file_is_located():
    layout = toml_text.scan(TRICKY)

    def at(*path):
        span = layout.values[path]
        return TRICKY[span.start : span.end]

    assert at("top") == "1"
    assert at("quoted.key") == "'lit # no comment'"
    assert at("a", "b", "c d").endswith("[not.a.table]" + 3 * '"')
    assert at("list", 0, 1) == "2"
    assert at("list", 1) == '"x]"'
    assert at("list", 2, "l") == "'}'"
    assert at("when") == "1979-05-27 07:32:00"
    assert at("table", "sub", "x") == "0xff"
    assert at("table", "sub", "") == "3"
    assert at("rows", 0, "deep", "m") == 3 * "'" + "it's" + 3 * "'"
    assert at("rows", 1, "n") == "2"
    assert toml_text.line_of(layout, ("rows", 1, "n")) == TRICKY.count("\n")
    assert toml_text.line_of(layout, ("rows", 1, "missing")) == TRICKY.count("\n") - 1


def flatten(value, path=()):
    yield path, value
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, item in items:
        yield from flatten(item, (*path, key))


@pytest.mark.parametrize("text", [TRICKY, TRICKY.replace("\n", "\r\n"), SMALL, HAND_WRITTEN])
def test_each_located_value_is_what_tomllib_reads_there(text):
    document = dict(flatten(tomllib.loads(text)))
    layout = toml_text.scan(text)
    for path, span in layout.values.items():
        assert tomllib.loads(f"v = {text[span.start : span.end]}")["v"] == document[path]
    scalars = {p for p, value in document.items() if not isinstance(value, dict | list)}
    assert scalars <= set(layout.values)


toml_values = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.from_regex("[a-z]{1,3}", fullmatch=True), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(toml_values)
def test_a_formatted_value_reads_back_as_it_was(value):
    assert tomllib.loads(f"v = {toml_text.format_value(value)}")["v"] == value


def test_a_formatted_whole_number_stays_short():
    assert toml_text.format_value([45.0, 22.5, math.inf]) == "[45, 22.5, inf]"


# --- hostile files -------------------------------------------------------------------------------


def test_a_byte_order_mark_does_not_matter(tmp_path):
    (tmp_path / "x.toml").write_text(SMALL, encoding="utf-8-sig")
    assert load_study(tmp_path / "x.toml") == parse_study(SMALL)


def test_a_file_of_megabytes_is_another_file(tmp_path):
    (tmp_path / "x.toml").write_text(SMALL + "#" * 2_000_000)
    with pytest.raises(StudyError, match=r"x\.toml has more than 2,000,000 bytes"):
        load_study(tmp_path / "x.toml")


def test_a_file_with_faults_without_end_lists_the_first_hundred():
    said = problems("".join(f"key{i} = {i}\n" for i in range(5000)))
    assert len(said) == 101
    assert said[-1] == "The first 100 faults are listed, there may be more"


def test_what_steers_a_terminal_is_escaped_in_keys_and_values():
    said = problem('"a\\u001b[31m\\nb" = 1\n' + SMALL)
    assert said.startswith('Study "a\\u001b[31m\\nb" is no key of the file')
    assert r"\u202e" in problem(changed('"ada"', '"ada\u202e"'))


def test_a_number_of_thousands_of_digits_is_one_clear_fault():
    assert "holds a value that is none" in problem(changed("seed = 1", "seed = " + "9" * 5000))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[5.376]", "[2001]", r"distances_m\[0\] is 2001: .* at most 2000"),
        ("azimuths_deg", "window = [2, 8]\nazimuths_deg", r"window\[0\] is 2: .* at least 4"),
        ("azimuths_deg", "lens_mm = 0.2\nazimuths_deg", "lens_mm is 0.2: .* 171.4 degrees wide"),
        ("azimuths_deg", "fnumber = 1e-300\nazimuths_deg", "fnumber is 1e-300: .* at least 0.1"),
    ],
)
def test_a_camera_that_cannot_be_rendered_faithfully_is_refused(old, new, says):
    assert re.match(rf"Study camera\.{says}", problem(changed(old, new)))


def test_lightings_that_differ_in_capitals_only_would_share_files():
    text = SMALL + '\n[[lighting]]\nname = "NOON_south"\nbase = "night"\n'
    assert 'lighting[0].name is "NOON_south", which the study already has' in problem(text)


# --- own sceneries, occluders, lamps -------------------------------------------------------------

OWN = 'sceneries = ["desert", "yard"]'
YARD = '\n[[scenery]]\nname = "yard"\ncollection = "Yard"\nanchor = "Here"\n'


def own_study(text=SMALL):
    return text.replace('sceneries = ["desert"]', OWN) + YARD


def test_a_scenery_of_ones_own_is_named_and_never_a_path():
    (yard,) = parse_study(own_study()).own_sceneries
    assert (yard.name, yard.collection, yard.anchor, yard.blend_sha256) == (
        "yard",
        "Yard",
        "Here",
        "",
    )


def test_a_scenery_that_no_table_names_is_a_fault_that_lists_them():
    with pytest.raises(StudyError, match=r'"yard".*desert, desert-2'):
        parse_study(SMALL.replace('sceneries = ["desert"]', OWN))


def test_a_scenery_table_that_is_not_used_is_a_fault():
    with pytest.raises(StudyError, match='"yard", which is none of the sceneries'):
        parse_study(SMALL + YARD)


def test_a_study_with_everything_new_reads_back_from_its_frozen_text():
    text = own_study().replace(
        'lightings = ["noon_south"]',
        'lightings = ["night_lamps", "night_infrared"]\nunoccluded_fractions = [1.0, 0.5]',
    )
    text += '\n[[lighting]]\nname = "lit"\nbase = "night"\nlamps_lm = 9000\nmonochrome = true\n'
    study = parse_study(text)
    assert study.lightings[2].lamps_lm == 9000 and study.lightings[2].stars
    assert parse_study(dump_study(study)) == resolve(study)


def test_what_is_off_is_not_written():
    text = dump_study(parse_study(SMALL))
    for key in ("unoccluded_fractions", "[[scenery]]", "lamps_lm", "stars"):
        assert key not in text


@pytest.mark.parametrize("fractions", ["[]", "[0.05]", "[1.5]", "0.5"])
def test_a_fraction_that_cannot_be_is_refused(fractions):
    with pytest.raises(StudyError, match="unoccluded_fractions"):
        parse_study(f"unoccluded_fractions = {fractions}\n" + SMALL)
