"""The person in the scene: painted with images in the right places, dressed, and removed whole."""

from pathlib import Path

import bpy
import cv2
import numpy as np
import pytest
from limen.addon.core.body import JOINT_NAMES, load_body
from limen.addon.core.study import Subject
from limen.addon.core.textures import Texture, find_texture
from limen.addon.scene import lighting, render
from limen.addon.scene.subject import SUBJECT, place_subject, remove_subject
from mathutils import Vector

BODIES = Path(__file__).resolve().parents[2] / "addon" / "data" / "bodies"
COLOURS = {"head": (255, 0, 0), "left": (0, 255, 0), "right": (0, 0, 255), "back": (255, 255, 0)}


def marked(weights: np.ndarray, rest_m: np.ndarray) -> dict[str, np.ndarray]:
    """Vertices (V,) of the face, each hand, and the upper back."""
    owner = np.array(JOINT_NAMES)[weights.argmax(axis=1)]
    head, ahead = owner == "head", rest_m[:, 2]
    marks = {"head": head & (ahead > ahead[head].max() - 0.06)}
    for side in ("left", "right"):
        marks[side] = np.array([n.startswith(f"{side}_") and n[-1].isdigit() for n in owner])
    trunk = np.isin(owner, ["spine2", "spine3"]) & (abs(rest_m[:, 0]) < 0.12)
    return marks | {"back": trunk & (ahead < np.median(ahead[trunk]))}


@pytest.fixture(scope="module")
def licensed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Assets: a model in SMPL-X's own format, and a layout file for SMPL's images.

    The model is the neutral body under the published keys, without Limen's. Its own layout (vt, ft,
    more coordinates than vertices, indexed through ft) shows what lies to the left in the image on
    the body's front; SMPL's layout is the same upside down, and its file lists faces in another
    order. Each marks face, hands and back in the image of its own layout.
    """
    root = tmp_path_factory.mktemp("assets")
    with np.load(BODIES / "SMPLX_NEUTRAL.npz") as data:
        arrays = {key: data[key] for key in data if not key.startswith("limen_")}
    v, f = arrays["v_template"], arrays["f"].astype(int)
    normal = np.cross(v[f[:, 1]] - v[f[:, 0]], v[f[:, 2]] - v[f[:, 0]])[:, 2]
    # Front and back each take half of the image: x, y seen from before.
    u = (v[:, 0] - v[:, 0].min()) / np.ptp(v[:, 0]) * 0.48
    t = (v[:, 1] - v[:, 1].min()) / np.ptp(v[:, 1]) * 0.98 + 0.01
    own = np.concatenate([np.stack([u + 0.01, t], 1), np.stack([u + 0.51, t], 1)])
    behind = (normal < 0)[:, None] * len(v)
    arrays["vt"], arrays["ft"] = own.astype(np.float32), (f + behind).astype(np.uint32)
    np.savez(root / "SMPLX_NEUTRAL.npz", **arrays)

    upside_down = own * [1, -1] + [0, 1]
    order = np.random.default_rng(5).permutation(len(f))
    lines = [f"v {x:.5f} {y:.5f} {z:.5f}" for x, y, z in v]
    lines += [f"vt {a:.6f} {b:.6f}" for a, b in upside_down]
    for face, uv in zip(f[order], (f + behind)[order], strict=True):
        # Faces begin at another corner, too.
        lines.append("f " + " ".join(f"{face[k] + 1}/{uv[k] + 1}" for k in (1, 2, 0)))
    (root / "uv").mkdir()
    (root / "uv" / "smpl.obj").write_text("\n".join(lines))

    image = np.full((512, 512, 3), 90, np.uint8)
    image[::2, ::2] = 110  # a fine checker on which the marks lie
    for name, there in marked(arrays["weights"], v).items():
        for a, b in own[np.flatnonzero(there) + (name == "back") * len(v)]:
            cv2.circle(image, (int(a * 512), int((1 - b) * 512)), 3, COLOURS[name][::-1], -1)
    for layout, picture in (("smplx", image), ("smpl", image[::-1])):
        (root / "textures" / layout).mkdir(parents=True)
        cv2.imwrite(str(root / "textures" / layout / f"checker-{layout}.png"), picture)
    return root


def seen_from(scene: bpy.types.Scene, yaw_deg: float) -> np.ndarray:
    """A small picture (h, w, 3), 1.9 m wide, of the subject under a plain white sky."""
    eye = bpy.data.cameras.new("Eye")
    eye.type, eye.ortho_scale = "ORTHO", 2.0
    item = bpy.data.objects.new("Eye", eye)
    towards = Vector((np.sin(np.radians(yaw_deg)), -np.cos(np.radians(yaw_deg)), 0))
    item.location = 5 * towards + Vector((0, 0, 0.9))
    item.rotation_mode = "QUATERNION"
    item.rotation_quaternion = towards.to_track_quat("Z", "Y")
    scene.collection.objects.link(item)
    scene.camera = item
    scene.render.resolution_x, scene.render.resolution_y = 160, 160
    lighting.light_layer(lighting.Layer("dome-uniform", "uniform"))
    return render.stacked(render.render_passes(scene, render.Shot(4)), "Combined", "RGB")


def centre_of(picture: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    """Where a colour is in the world: x to the picture's right and height, in metres."""
    wanted = np.array(colour) > 0
    there = (picture[..., wanted].min(axis=-1) > 4 * picture[..., ~wanted].max(axis=-1)) & (
        picture.max(axis=-1) > 0.15
    )
    assert there.sum() > 12, "the mark is not seen"
    rows, columns = np.nonzero(there)
    y, x = (rows.min() + rows.max()) / 2, (columns.min() + columns.max()) / 2
    return np.array([(x - 79.5) / 80, 0.9 - (y - 79.5) / 80])


@pytest.mark.render
@pytest.mark.parametrize("layout", ["smplx", "smpl"])
def test_an_image_is_painted_on_face_hands_and_back(bare, licensed: Path, layout: str) -> None:
    name, path = f"checker-{layout}", licensed / "SMPLX_NEUTRAL.npz"
    subject = Subject("kim", "smplx-neutral", textures=(name,))
    texture = find_texture(subject, name, load_body(path), path, licensed)
    assert texture.uv is not None and texture.uv.layout == layout
    person = place_subject((bare,), path, (), np.zeros((55, 3)), 0.0, texture)
    body = load_body(path)
    front, back = seen_from(bare, 0), seen_from(bare, 180)
    for part, there in marked(body.weights, body.vertices_m).items():
        place = (person.vertices_m[there].min(axis=0) + person.vertices_m[there].max(axis=0)) / 2
        seen = centre_of(back if part == "back" else front, COLOURS[part])
        assert np.abs(seen - place[[0, 2]]).max() < 0.05, part
    with pytest.raises(AssertionError, match="not seen"):
        centre_of(front, COLOURS["back"])
    remove_subject()
    assert not [image for image in bpy.data.images if image.filepath.startswith(str(licensed))]


@pytest.mark.render
def test_each_person_wears_its_own_image_whoever_was_there_before(bare, licensed: Path) -> None:
    """An image that is loaded where another was removed is not drawn as that one."""
    path, before = licensed / "SMPLX_NEUTRAL.npz", 0.0
    for turn in range(8):
        grey = 30 + 27 * turn
        plain = licensed / "textures" / "smplx" / f"plain-{turn}.png"
        cv2.imwrite(str(plain), np.full((64, 64, 3), grey, np.uint8))
        subject = Subject("kim", "smplx-neutral", textures=(plain.stem,))
        texture = find_texture(subject, plain.stem, load_body(path), path, licensed)
        place_subject((bare,), path, (), np.zeros((55, 3)), 0.0, texture)
        seen = seen_from(bare, 0)
        remove_subject()
        body = seen[..., 0] > 0
        brightest = np.percentile(seen[body], 90)
        assert brightest > 1.1 * before, turn
        before = brightest


@pytest.mark.render
def test_a_dressed_person_has_a_material_for_each_part_and_leaves_nothing(blender) -> None:
    from limen.addon.scene import stage

    before = len(bpy.data.meshes), len(bpy.data.materials)
    for n in (3, 4):
        place_subject(
            (stage.bare_scene(),),
            BODIES / "SMPLX_MALE.npz",
            (),
            np.zeros((55, 3)),
            0.0,
            Texture(f"limen-texture-{n:05d}"),
        )
        mesh = bpy.data.objects[SUBJECT].data
        index = np.zeros(len(mesh.polygons), np.int32)
        mesh.polygons.foreach_get("material_index", index)
        assert set(index) == set(range(len(mesh.materials)))
    remove_subject()
    assert (len(bpy.data.meshes), len(bpy.data.materials)) == before
