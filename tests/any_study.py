"""Hypothesis strategies: any study that can be."""

from dataclasses import replace

from hypothesis import strategies as st
from limen.addon.core.lighting import load_lightings, make_lighting
from limen.addon.core.optics import load_sensors
from limen.addon.core.poses import load_poses, mirrored_name
from limen.addon.core.study import (
    CameraSetup,
    Outputs,
    OwnScenery,
    RenderSettings,
    Sampling,
    Study,
    Subject,
    with_distances,
)

__all__ = ["LIBRARY", "PRESETS", "studies"]

PRESETS = load_lightings()
LIBRARY = {name: pose.action for name, pose in load_poses().items()}

names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,8}", fullmatch=True)
lighting_names = st.from_regex(r"own_[A-Za-z0-9_]{1,5}", fullmatch=True)


def numbers(low, high):
    return st.floats(low, high).map(lambda x: x + 0.0)


def levels(low, high, most=4):
    return st.lists(
        numbers(low, high), min_size=1, max_size=most, unique_by=lambda x: round(x, 6)
    ).map(tuple)


@st.composite
def lightings(draw):
    chosen = draw(st.lists(st.sampled_from(sorted(PRESETS)), max_size=3, unique=True))
    # Capitals do not tell lightings apart, as they do not on every file system.
    own_names = draw(st.lists(lighting_names, min_size=not chosen, max_size=3, unique_by=str.lower))
    own = []
    for name in own_names:
        lux = draw(numbers(1e-6, 1e6))
        if draw(st.booleans()):
            base = PRESETS[draw(st.sampled_from(sorted(PRESETS)))]
            lamps = draw(st.just(0.0) | numbers(1, 1e5)) if base.lamps_lm == 0 else base.lamps_lm
            own.append(replace(base, name=name, illuminance_lx=lux, lamps_lm=lamps))
        else:
            share = draw(numbers(0, 1))
            colour = draw(st.tuples(*[numbers(0.01, 10)] * 3))
            parts = [
                {"layer": "dome-uniform", "share": share, "colour": list(colour)},
                {"layer": "sun-90-15", "share": 1 - share},
            ]
            table = {"name": name, "band": "day", "illuminance_lx": lux, "components": parts}
            own.append(make_lighting(table, "test"))
    return tuple(draw(st.permutations([*(PRESETS[name] for name in chosen), *own])))


@st.composite
def cameras(draw):
    sensor = draw(st.none() | st.sampled_from(sorted(load_sensors())))
    if sensor:
        s = load_sensors()[sensor]
        size, resolution = (s.width_mm, s.height_mm), (s.width_px, s.height_px)
    else:
        pitch = draw(numbers(0.001, 0.01))
        resolution = draw(st.tuples(st.integers(16, 4096), st.integers(16, 4096)))
        size = (resolution[0] * pitch, resolution[1] * pitch)
        sensor = draw(st.sampled_from(["own", "a chip 4/3", 'with "quotes" \\ and ü']))
    window = tuple(side - 2 * draw(st.integers(0, side // 2 - 2)) for side in resolution)
    setup = CameraSetup(
        sensor=sensor,
        sensor_width_mm=size[0],
        sensor_height_mm=size[1],
        lens_mm=draw(numbers(2, 50)),
        fnumber=draw(numbers(0.5, 22)),
        resolution=resolution,
        window=draw(st.none() | st.just(window)),
        distances_m=draw(levels(1, 2000)),
        azimuths_deg=draw(levels(0, 359.9)),
        elevations_deg=draw(levels(0, 90)),
        look_at_height_m=draw(numbers(0.01, 100)),
        shutter_limit_s=draw(numbers(0.001, 60)),
        iso=draw(numbers(1, 1e6)),
    )
    if draw(st.booleans()):
        focal_px = setup.optics().focal_px
        densities = draw(levels(max(0.1, focal_px / 1_999), min(1e5, focal_px / 1.1)))
        setup = with_distances(replace(setup, densities_px_per_m=densities))
    elif 100 < setup.optics().focal_px < 80_000:
        bands = draw(st.sampled_from([(), ("detect",), ("recognise", "observe")]))
        setup = with_distances(replace(setup, bands=bands))
    return setup


hashes = st.sampled_from(["", "0123456789abcdef" * 4])
few_betas = st.lists(numbers(-10, 10), max_size=12)
all_betas = st.lists(numbers(-10, 10), min_size=1, max_size=4).map(lambda few: (few * 300)[:300])


@st.composite
def one_subject(draw):
    textures = tuple(draw(st.lists(names, min_size=1, max_size=3, unique=True)))
    each = st.tuples(*[hashes] * len(textures))
    return Subject(
        name=draw(names),
        body=draw(st.sampled_from(["neutral", "female", "smplx-male"])),
        body_sha256=draw(hashes),
        betas=draw(st.just("random") | (few_betas | all_betas).map(tuple)),
        yaw_deg=draw(numbers(-360, 360)),
        textures=textures,
        texture_sha256=draw(st.just(()) | each),
    )


subjects = st.lists(
    one_subject(), min_size=1, max_size=3, unique_by=lambda subject: subject.name
).map(tuple)

own_sceneries = st.lists(
    st.builds(
        OwnScenery,
        name=st.from_regex(r"own-[a-z0-9]{1,5}", fullmatch=True),
        collection=st.sampled_from(["Limen", "The yard, ü", "x" * 63]),
        anchor=st.sampled_from(["Limen Anchor", "here"]),
        blend_sha256=hashes,
    ),
    max_size=2,
    unique_by=lambda scenery: scenery.name,
).map(tuple)

actions = st.lists(st.sampled_from(sorted(set(LIBRARY.values()))), min_size=1, unique=True)


@st.composite
def studies(draw):
    chosen = tuple(draw(actions))
    every = tuple(pose for pose, action in LIBRARY.items() if action in chosen)
    mirrored = tuple(mirrored_name(pose) for pose in every)
    own = draw(own_sceneries)
    built_in = draw(st.sampled_from([("desert",), ("wharf", "desert")]))
    return Study(
        name=draw(names),
        family="visibility",
        seed=draw(st.integers(0, 2**63 - 1)),
        camera=draw(cameras()),
        lightings=draw(lightings()),
        sceneries=tuple(draw(st.permutations([*built_in, *(scenery.name for scenery in own)]))),
        subjects=draw(subjects),
        actions=chosen,
        poses=draw(st.sampled_from([(), every, mirrored, every + mirrored])),
        sampling=Sampling("all", draw(st.sampled_from(["all", 0.0, 1e-4]))),
        render=draw(
            st.builds(
                RenderSettings,
                st.sampled_from(["fast", "exact"]),
                st.integers(1, 65536),
                st.sampled_from(["oidn", "none"]),
            )
        ),
        outputs=draw(st.builds(Outputs, st.booleans(), st.booleans(), st.booleans())),
        own_sceneries=own,
        unoccluded_fractions=draw(st.just((1.0,)) | levels(0.1, 1)),
    )
