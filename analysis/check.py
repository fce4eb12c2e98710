"""Verify a dataset against its contract (docs/dataset.md): rows, files, and what the files show."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..addon.core import toml_check
from ..addon.core.dataset import Dataset, DatasetError, file_record, open_dataset, recorded_files
from ..addon.core.factors import poses_by_action, sample_views
from ..addon.core.photometry import expose, plate_luminance, to_srgb8
from ..addon.core.poses import PoseError, load_poses
from ..addon.core.study import StudyError, load_study
from .contract import against_schema, is_photographs, schema_name
from .develop.table import developed_files, read_develop
from .images import read_image

__all__ = ["Check", "Problem", "check_dataset"]

DENSITY_TOLERANCE = 0.01
BODY_JOINTS = 22  # the first of SMPL-X: pelvis to wrists, without jaw, eyes and fingers
JOINT_MARGIN_PX = 3
JOINT_SHARE = 0.9
MAGENTA_SHARE = 0.001

Row = dict[str, Any]
Image = NDArray[np.uint8]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Problem:
    """One thing that is not as it should be.

    Attributes:
        where: The file or id.
        what: What was found and what was expected.
    """

    where: str
    what: str


@dataclass(frozen=True)
class Check:
    """One kind of check and what it found.

    Attributes:
        name: What was compared.
        checked: How many rows, views or files.
        problems: In the order of the rows.
        note: A figure worth knowing, or what could not be checked and why.
    """

    name: str
    checked: int
    problems: tuple[Problem, ...] = ()
    note: str = ""


def check_dataset(
    root: Path, quick: bool = False, complete: bool = False, progress: Progress | None = None
) -> list[Check]:
    """Check a dataset.

    Args:
        root: The dataset.
        quick: Rows, counts and file sizes only; opens no file but the tables.
        complete: Count a view of the study that was not rendered yet as a problem.
        progress: Told (what is being checked, done, in all).

    Returns:
        The checks, in the order of docs/analysis.md.

    Raises:
        DatasetError: ``root`` is no dataset.
    """
    dataset = open_dataset(root)
    try:
        lines = _check_lines(dataset)
    except DatasetError as error:
        # Two rows that contradict each other, or a path that leaves the dataset: no row is safe.
        return [Check("table lines", 0, (Problem(str(root), str(error)),), "nothing else checked")]
    views, items = list(dataset.views.values()), list(dataset.index.values())

    def stage(name: str, rows: list[Any], function: Callable[[Any], Iterable[Problem]]) -> Check:
        return Check(name, len(rows), tuple(_each(name, rows, function, progress)))

    checks = [
        lines,
        stage("view rows, schema", views, _against_schema(schema_name(dataset, "view"), "view_id")),
        stage("index rows, schema", items, _against_schema(schema_name(dataset, "index"), "id")),
    ]
    if any(check.problems for check in checks[1:]):
        note = "rows do not follow the schema: nothing else checked"
        return [*checks, Check("files and contents", 0, (), note)]
    checks.append(_check_counts(dataset))
    if not is_photographs(dataset):  # those were not asked for, and measure less
        checks += [
            _check_study(dataset, complete),
            _check_poses(dataset),
            stage("pixel density", views, _check_density),
            stage("visible shares", views, _check_shares),
        ]
    files = _recorded(dataset)
    developed, its_rows, its_files = _check_develop(dataset)
    if developed.checked or developed.problems:
        checks.append(developed)
        files.update(its_files)
    if quick:
        checks.append(stage("files, size", list(files.items()), _check_size(dataset.root)))
        return checks
    checks.append(stage("files, size and hash", list(files.items()), _check_hash(dataset.root)))
    checks += _check_masks(dataset, its_rows, progress)
    media = [row for row in items if row["media"]["clean"]]
    look = stage("images", media, _check_image(dataset))
    bare = len(items) - len(media)
    return [*checks, Check(look.name, look.checked, look.problems, _without(bare, "image", "item"))]


def _each(
    name: str,
    rows: list[Any],
    function: Callable[[Any], Iterable[Problem]],
    progress: Progress | None,
) -> Iterator[Problem]:
    """What ``function`` finds in each row, in order; rows are looked at in parallel."""
    with ThreadPoolExecutor() as pool:
        try:
            for number, found in enumerate(pool.map(lambda row: list(function(row)), rows), 1):
                if progress is not None:
                    progress(name, number, len(rows))
                yield from found
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _without(n: int, thing: str, owner: str) -> str:
    return f"{n} {owner}{'s' if n > 1 else ''} without {thing}" if n else ""


# --- rows ----------------------------------------------------------------------------------------


def _check_lines(dataset: Dataset) -> Check:
    broken = dataset.broken_lines
    problems = tuple(
        Problem(
            place, "is no row: what a killed writer left, or damage (delete the line, render again)"
        )
        for place in broken
    )
    return Check("table lines", len(dataset.views) + len(dataset.index) + len(broken), problems)


def _against_schema(name: str, key: str) -> Callable[[Row], Iterator[Problem]]:
    offences = against_schema(name)

    def check(row: Row) -> Iterator[Problem]:
        for at, what in offences(row):
            yield Problem(f"{row[key]}{at}", what)

    return check


def _check_counts(dataset: Dataset) -> Check:
    """Every view under every lighting; the frozen study says which those are."""
    lightings = {row["lighting"] for row in dataset.index.values()}
    problems = []
    for view_id in dataset.views:
        missing = [name for name in sorted(lightings) if f"{view_id}-{name}" not in dataset.index]
        if missing:
            problems.append(Problem(view_id, f"has no index row for {', '.join(missing)}"))
    for row_id, row in dataset.index.items():
        if row_id != f"{row['view_id']}-{row['lighting']}":
            problems.append(Problem(row_id, "is not its view_id and lighting"))
        view = dataset.views[row["view_id"]]
        if view["target_present"] != row["target_present"]:
            problems.append(Problem(row_id, "target_present is not its view's"))
    note = f"{len(dataset.views)} views x {len(lightings)} lightings"
    return Check("lightings of views", len(dataset.index), tuple(problems), note)


def _check_study(dataset: Dataset, complete: bool) -> Check:
    """The views and lightings that the frozen study asks for, and no others."""
    name = "views of the study"
    path = dataset.root / "study.toml"
    try:
        study = load_study(path)
        poses = {pose: its.action for pose, its in load_poses().items()}
        wanted = {view.view_id for view in sample_views(study, poses_by_action(study, poses))}
    except (StudyError, PoseError, ValueError) as error:
        return Check(name, 0, (Problem(path.name, str(error)),))
    problems = [
        Problem(view_id, "is none of the study's views")
        for view_id in dataset.views
        if view_id not in wanted
    ]
    missing = sorted(wanted - dataset.views.keys())
    if complete:
        problems += [Problem(view_id, "is not rendered yet") for view_id in missing]
    lightings = {lighting.name for lighting in study.lightings}
    for row_id, row in dataset.index.items():
        if row["lighting"] not in lightings:
            problems.append(Problem(row_id, "has a lighting that the study does not name"))
    unlit = lightings - {row["lighting"] for row in dataset.index.values()}
    if unlit and dataset.index:
        problems.append(Problem(path.name, f"no row has its {', '.join(sorted(unlit))}"))
    note = f"{len(missing)} of {len(wanted)} not rendered yet" if missing else "all rendered"
    return Check(name, len(dataset.views), tuple(problems), note)


def _check_poses(dataset: Dataset) -> Check:
    """Every view of a pose has it in the same form: a file changed while a dataset grew shows."""
    first: dict[str, Row] = {}
    problems = []
    posed = [view for _, view in sorted(dataset.views.items()) if view["pose"] is not None]
    for view in posed:
        its = view["pose"]
        other = first.setdefault(its["name"], view)
        if its != other["pose"]:
            what = f"its pose {its['name']} is another than that of {other['view_id']}"
            problems.append(Problem(view["view_id"], what))
    return Check("poses", len(posed), tuple(problems), f"{len(first)} different")


def _check_density(view: Row) -> Iterator[Problem]:
    nominal, measured = view["density_nominal_px_per_m"], view["density_measured_px_per_m"]
    if abs(measured / nominal - 1) > DENSITY_TOLERANCE:
        yield Problem(
            view["view_id"],
            f"measured density {measured:.2f} px/m, nominal {nominal:.2f}: "
            f"{measured / nominal - 1:+.1%}, within {DENSITY_TOLERANCE:.0%} is expected",
        )


def _check_shares(view: Row) -> Iterator[Problem]:
    visible, full = view["visible_px"], view["full_px"]
    pixels = view["camera"]["width"] * view["camera"]["height"]
    if view["target_present"] and not visible:
        yield Problem(view["view_id"], "has a target of which no pixel is visible")
    expected = {
        "visible_area_share": visible / pixels,
        "unoccluded_fraction": visible / full if full else None,
    }
    for key, value in expected.items():
        found = view[key]
        same = (
            found is None
            if value is None
            else found is not None and math.isclose(found, value, rel_tol=1e-3, abs_tol=1e-6)
        )
        if not same:
            yield Problem(
                view["view_id"],
                f"{key} is {found}, but {visible} visible, {full} full and {pixels} image pixels "
                f"give {value}",
            )


def _check_develop(
    dataset: Dataset,
) -> tuple[Check, list[Row], dict[str, list[tuple[str, Row]]]]:
    """The develop table, its rows that follow the schema, and the files that they record."""
    name = "develop table"
    try:
        rows = list(read_develop(dataset.root).values())
    except DatasetError as error:
        return Check(name, 0, (Problem("develop", str(error)),)), [], {}
    against_schema = _against_schema("develop", "id")
    problems: list[Problem] = []
    sound: list[Row] = []
    files: dict[str, list[tuple[str, Row]]] = {}
    made_with: dict[str, set[str]] = {}
    for row in rows:
        found = list(against_schema(row))
        if row["id"] not in dataset.index:
            found.append(Problem(row["id"], "is no media item of the dataset"))
        elif row["path"] != f"media/{row['variant']}/{row['id']}.png":
            found.append(Problem(row["id"], f"its path {row['path']} is not its variant and id"))
        problems += found
        if not found:
            sound.append(row)
            for path, record in developed_files(row).items():
                files.setdefault(path, []).append((f"{row['id']} {row['variant']}", record))
            made_with.setdefault(row["variant"], set()).add(row["settings"])
    for variant, settings in made_with.items():
        if len(settings) > 1:
            what = f"has {len(settings)} settings in variant {variant}: they are not to be mixed"
            problems.append(Problem("develop", what))
    counts = Counter(row["variant"] for row in rows)
    note = ", ".join(f"{count} {variant}" for variant, count in sorted(counts.items()))
    return Check(name, len(rows), tuple(problems), note), sound, files


# --- files ---------------------------------------------------------------------------------------


def _recorded(dataset: Dataset) -> dict[str, list[tuple[str, Row]]]:
    """Path -> who records it, and what; a plate is recorded by many views."""
    files: dict[str, list[tuple[str, Row]]] = {}
    for rows in (dataset.views, dataset.index):
        for row_id, row in rows.items():
            for path, record in recorded_files(row).items():
                files.setdefault(path, []).append((row_id, record))
    return files


def _check_size(root: Path) -> Callable[[tuple[str, list[tuple[str, Row]]]], Iterator[Problem]]:
    def check(entry: tuple[str, list[tuple[str, Row]]]) -> Iterator[Problem]:
        path, records = entry
        file = root / path
        size = file.stat().st_size if file.is_file() else None
        for row_id, record in records:
            if size is None:
                yield Problem(path, f"is missing (of {row_id})")
            elif size != record["size"]:
                yield Problem(path, f"has {size} bytes, {row_id} records {record['size']}")

    return check


def _check_hash(root: Path) -> Callable[[tuple[str, list[tuple[str, Row]]]], Iterator[Problem]]:
    sizes = _check_size(root)

    def check(entry: tuple[str, list[tuple[str, Row]]]) -> Iterator[Problem]:
        path, records = entry
        found = list(sizes(entry))
        yield from found
        if not found:
            digest = file_record(root / path)["sha256"]
            for row_id, record in records:
                if record["sha256"] != digest:
                    yield Problem(path, f"has changed: its sha256 is not what {row_id} records")

    return check


def _wrong_size(image: Image, camera: Mapping[str, Any]) -> str | None:
    height, width = image.shape[:2]
    if (width, height) == (camera["width"], camera["height"]):
        return None
    return f"is {width}x{height} px, its camera {camera['width']}x{camera['height']}"


@dataclass(frozen=True)
class _Masked:
    """A person's masks, and what a row says of them.

    Attributes:
        owner: The view, or the variant of it.
        camera: Of the view.
        paths: Kind -> file.
        says: The view's row, or a developed image's geometry.
    """

    owner: str
    camera: Row
    paths: Mapping[str, str]
    says: Row


def _check_masks(
    dataset: Dataset, developed: Iterable[Row], progress: Progress | None
) -> list[Check]:
    """Masks and joints of the views, and of the images that a lens bent."""
    persons = [view for view in dataset.views.values() if view["target_present"]]
    rendered = [
        _Masked(view["view_id"], view["camera"], paths, view)
        for view in persons
        if set((paths := _view_masks(view)).values()) <= view["files"].keys()
    ]
    bare = _without(len(persons) - len(rendered), "masks", "view")
    checks = [_check_masked("masks and joints", dataset.root, rendered, bare, progress)]
    bent: dict[str, _Masked] = {}
    for row in developed:
        place, item = row["geometry"], dataset.index.get(row["id"])
        if place and item and place["mask_visible"] and place["mask_full"]:
            view = dataset.views[item["view_id"]]
            paths = {kind: place[f"mask_{kind}"]["path"] for kind in ("visible", "full")}
            owner = f"{view['view_id']} {row['variant']}"
            bent.setdefault(owner, _Masked(owner, view["camera"], paths, place))
    if bent:
        name = "masks and joints of bent images"
        checks.append(_check_masked(name, dataset.root, list(bent.values()), "", progress))
    return checks


def _check_masked(
    name: str, root: Path, entries: list[_Masked], bare: str, progress: Progress | None
) -> Check:
    tally: Counter[str] = Counter()

    def check(entry: _Masked) -> Iterator[Problem]:
        masks = {}
        for kind, path in entry.paths.items():
            mask = read_image(root / path, grey=True)
            if mask is None:
                yield Problem(path, "cannot be read as a PNG image")
                return
            wrong = _wrong_size(mask, entry.camera)
            if wrong or not np.isin(mask, (0, 255)).all():
                yield Problem(path, wrong or "holds other values than 0 and 255")
                return
            masks[kind] = mask
            yield from _mask_against_row(path, mask, entry.says, kind)
        if entry.says["joints_px"]:
            inside, seen = _joints_inside(masks["full"], entry.says["joints_px"])
            tally.update(inside=inside, seen=seen)
            if inside < JOINT_SHARE * seen:
                yield Problem(
                    entry.owner,
                    f"{inside} of {seen} body joints lie on the full mask (widened by "
                    f"{JOINT_MARGIN_PX} px): {JOINT_SHARE:.0%} are expected",
                )

    problems = tuple(_each(name, entries, check, progress))
    notes = [bare]
    if tally["seen"]:
        share = tally["inside"] / tally["seen"]
        notes.insert(0, f"{share:.2%} of {tally['seen']} body joints on the full mask")
    return Check(name, len(entries), problems, "; ".join(filter(None, notes)))


def _view_masks(view: Row) -> dict[str, str]:
    return {kind: f"masks/{view['view_id']}.{kind}.png" for kind in ("visible", "full")}


def _mask_against_row(path: str, mask: Image, view: Row, kind: str) -> Iterator[Problem]:
    rows, columns = np.nonzero(mask)
    if len(rows) != view[f"{kind}_px"]:
        yield Problem(path, f"has {len(rows)} pixels set, {kind}_px is {view[f'{kind}_px']}")
    box = None
    if len(rows):
        x, y = int(columns.min()), int(rows.min())
        box = [x, y, int(columns.max()) - x + 1, int(rows.max()) - y + 1]
    if box != view[f"box_{kind}"]:
        yield Problem(path, f"has the box {box}, box_{kind} is {view[f'box_{kind}']}")


def _joints_inside(mask: Image, joints_px: Iterable[list[float] | None]) -> tuple[int, int]:
    """How many body joints lie on the mask, of how many inside the image."""
    import cv2

    height, width = mask.shape
    size = 2 * JOINT_MARGIN_PX + 1
    wide = cv2.dilate(mask, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size)))
    # A joint without a place, beyond what a lens shows, lies in no image.
    places = [point if point is not None else [-1e6, -1e6] for point in joints_px]
    x, y = np.rint(np.asarray(places, float)[:BODY_JOINTS]).astype(int).T
    seen = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return int(np.count_nonzero(wide[y[seen], x[seen]])), int(seen.sum())


def _may_be_black(dataset: Dataset) -> Callable[[Row], bool]:
    """Whether even a white plate would be 0 of 255 under an image's light and exposure."""
    try:
        path = dataset.root / "study.toml"
        camera = toml_check.parse(toml_check.read_text(path, "Study"), path.name, "Study")["camera"]
        fnumber, iso = float(camera["fnumber"]), float(camera["iso"])
    except (OSError, ValueError, KeyError, TypeError):  # the study's own check tells of it
        return lambda row: False

    def check(row: Row) -> bool:
        white = plate_luminance(row["illuminance_nominal_lx"])
        return not to_srgb8(expose(white, row["exposure_s"], fnumber, iso)).any()

    return check


def _check_image(dataset: Dataset) -> Callable[[Row], Iterator[Problem]]:
    may_be_black = _may_be_black(dataset)
    rendered = not is_photographs(dataset)

    def check(row: Row) -> Iterator[Problem]:
        path = row["media"]["clean"]["path"]
        image = read_image(dataset.root / path)
        if image is None:
            yield Problem(path, "cannot be read as a PNG image")
            return
        wrong = _wrong_size(image, dataset.views[row["view_id"]]["camera"])
        if wrong:
            yield Problem(path, wrong)
        if not rendered:
            return
        if not image.any() and not may_be_black(row):
            yield Problem(path, "is black all over")
        blue, green, red = (image[..., channel].astype(int) for channel in range(3))
        # Blender paints what it has no texture for in (1, 0, 1); light and noise shift that little.
        magenta = (np.minimum(red, blue) > 40) & (8 * green < np.minimum(red, blue))
        if magenta.mean() > MAGENTA_SHARE:
            yield Problem(path, f"is magenta in {magenta.mean():.1%}: a texture was missing")

    return check
