import hashlib
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limen.addon.core.body import (
    PARENTS,
    Body,
    BodyError,
    ground_offset_m,
    load_body,
    pose_body,
    pose_surface,
    rotation_matrices,
    stature_m,
    to_world,
)

BODIES = Path(__file__).resolve().parents[2] / "addon" / "data" / "bodies"
V, F = 203, 390


def genuine_arrays(columns: int = 400) -> dict[str, np.ndarray]:
    """Arrays as in a genuine SMPL-X file, pickled tables included, with random contents."""
    rng = np.random.default_rng(7)
    weights = rng.random((V, 55)) ** 8
    regressor = rng.random((55, V)) ** 8
    return {
        "v_template": rng.normal(0, 0.5, (V, 3)),
        "f": rng.integers(0, V, (F, 3)).astype(np.uint32),
        "weights": weights / weights.sum(axis=1, keepdims=True),
        "J_regressor": regressor / regressor.sum(axis=1, keepdims=True),
        "kintree_table": np.stack([np.where(PARENTS < 0, 2**32 - 1, PARENTS), np.arange(55)]),
        "shapedirs": rng.normal(0, 0.02, (V, 3, columns)),
        "posedirs": rng.normal(0, 0.005, (V, 3, 486)),
        "hands_componentsl": np.eye(45),
        "hands_componentsr": np.eye(45),
        "hands_meanl": np.full(45, 0.1),
        "hands_meanr": np.full(45, 0.1),
        "lmk_faces_idx": np.zeros(51, np.int64),
        "lmk_bary_coords": np.full((51, 3), 1 / 3),
        "dynamic_lmk_faces_idx": np.zeros((79, 17), np.int64),
        "dynamic_lmk_bary_coords": np.full((79, 17, 3), 1 / 3),
        "joint2num": np.array({"Pelvis": 0}, dtype=object),
        "part2num": np.array({"Global": 0}, dtype=object),
    }


def save(path: Path, **changes: object) -> Path:
    arrays = {**genuine_arrays(), **changes}
    np.savez(path, **{key: array for key, array in arrays.items() if array is not None})
    return path


@pytest.fixture(scope="module")
def body(tmp_path_factory: pytest.TempPathFactory) -> Body:
    return load_body(save(tmp_path_factory.mktemp("body") / "SMPLX_MALE.npz"))


@pytest.fixture(scope="module")
def neutral() -> Body:
    path = BODIES / "SMPLX_NEUTRAL.npz"
    if not path.exists():
        pytest.skip("addon/data/bodies is empty: run `limen bodies --wheel FILE` first")
    return load_body(path)


# ------------------------------------------------------------------------- loading


@pytest.mark.parametrize(("columns", "shapes", "expressions"), [(400, 300, 100), (20, 10, 10)])
def test_shapedirs_are_split_into_shape_and_expression(
    tmp_path: Path, columns: int, shapes: int, expressions: int
) -> None:
    arrays = genuine_arrays(columns)
    body = load_body(save(tmp_path / "b.npz", shapedirs=arrays["shapedirs"]))
    assert body.shapedirs.shape == (V, 3, shapes)
    assert body.expressiondirs.shape == (V, 3, expressions)


def test_pickled_tables_of_genuine_files_are_never_unpickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path / "b.npz")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("unpickled")

    monkeypatch.setattr(pickle, "load", refuse)
    assert load_body(path).vertices_m.shape == (V, 3)


def test_a_needed_array_that_is_pickled_is_refused_with_advice(tmp_path: Path) -> None:
    path = save(tmp_path / "b.npz", weights=np.array([[1], [2, 3]], dtype=object))
    with pytest.raises(BodyError, match=r"weights is unreadable .*pickle.load.*np.savez"):
        load_body(path)


def test_a_pkl_file_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "SMPLX_NEUTRAL.pkl"
    path.write_bytes(pickle.dumps({"f": 1}))
    with pytest.raises(BodyError, match=r"not an \.npz file.*never unpickles.*np.savez"):
        load_body(path)


def test_a_missing_file_says_where_bodies_come_from(tmp_path: Path) -> None:
    with pytest.raises(BodyError, match="limen bodies --wheel FILE"):
        load_body(tmp_path / "none.npz")


def test_missing_keys_are_named(tmp_path: Path) -> None:
    with pytest.raises(BodyError, match="lacks weights, J_regressor"):
        load_body(save(tmp_path / "b.npz", weights=None, J_regressor=None))


def test_every_wrong_shape_is_listed_with_what_is_allowed(tmp_path: Path) -> None:
    path = save(tmp_path / "b.npz", weights=np.ones((V, 52)), shapedirs=np.ones((V, 3, 30)))
    with pytest.raises(BodyError) as error:
        load_body(path)
    assert f"weights has shape ({V}, 52), allowed is ({V}, 55)" in str(error.value)
    assert f"allowed is ({V}, 3, 400) or ({V}, 3, 20)" in str(error.value)


def test_another_skeleton_is_refused(tmp_path: Path) -> None:
    other = genuine_arrays()["kintree_table"].copy()
    other[0, 20] = 3
    with pytest.raises(BodyError, match="other parents"):
        load_body(save(tmp_path / "b.npz", kintree_table=other))


def test_faces_beyond_the_vertices_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BodyError, match=f"f holds .* to {V}, allowed is 0 to {V - 1}"):
        load_body(save(tmp_path / "b.npz", f=np.full((F, 3), V)))


def test_weights_that_do_not_sum_to_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BodyError, match="not to 1"):
        load_body(save(tmp_path / "b.npz", weights=np.full((V, 55), 0.1)))


def test_a_body_is_identified_by_name_and_hash_of_its_file(tmp_path: Path) -> None:
    path = save(tmp_path / "SMPLX_FEMALE.npz")
    body = load_body(path)
    assert body.name == "SMPLX_FEMALE"
    assert body.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


# ------------------------------------------------------------------------- posing


def smplx_vertices(
    path: Path, betas: np.ndarray, pose: np.ndarray, expression: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    torch = pytest.importorskip("torch", reason="the extra `smplx` is not installed")
    smplx = pytest.importorskip("smplx", reason="the extra `smplx` is not installed")
    model = smplx.SMPLX(
        str(path),
        use_pca=False,
        flat_hand_mean=True,
        num_betas=len(betas),
        num_expression_coeffs=len(expression),
    )

    def row(values: np.ndarray) -> "torch.Tensor":
        return torch.tensor(values.reshape(1, -1), dtype=torch.float32)

    with torch.no_grad():
        out = model(
            betas=row(betas),
            expression=row(expression),
            global_orient=row(pose[0]),
            body_pose=row(pose[1:22]),
            jaw_pose=row(pose[22]),
            leye_pose=row(pose[23]),
            reye_pose=row(pose[24]),
            left_hand_pose=row(pose[25:40]),
            right_hand_pose=row(pose[40:55]),
        )
    return out.vertices[0].numpy(), out.joints[0, :55].numpy()


@pytest.mark.parametrize("columns", [400, 20])
@pytest.mark.slow
def test_posing_agrees_with_the_smplx_package_on_a_genuine_format_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    models = pytest.importorskip("smplx.body_models", reason="the extra `smplx` is not installed")
    # The package picks landmarks by vertex numbers that a small mesh does not have.
    monkeypatch.setitem(models.VERTEX_IDS, "smplx", {k: 0 for k in models.VERTEX_IDS["smplx"]})
    path = save(tmp_path / "SMPLX_NEUTRAL.npz", shapedirs=genuine_arrays(columns)["shapedirs"])
    rng = np.random.default_rng(1)
    betas, expression = rng.normal(size=10), rng.normal(size=10)
    pose = rng.normal(0, 0.6, (55, 3))
    vertices, joints = smplx_vertices(path, betas, pose, expression)
    posed = pose_body(load_body(path), betas, pose, expression)
    assert np.abs(posed.vertices_m - vertices).max() < 1e-5
    assert np.abs(posed.joints_m - joints).max() < 1e-5


@pytest.mark.slow
def test_posing_agrees_with_the_smplx_package_on_the_built_body(neutral: Body) -> None:
    rng = np.random.default_rng(2)
    betas, expression, pose = rng.normal(size=10), rng.normal(size=10), rng.normal(0, 0.4, (55, 3))
    vertices, joints = smplx_vertices(BODIES / "SMPLX_NEUTRAL.npz", betas, pose, expression)
    posed = pose_body(neutral, betas, pose, expression)
    assert np.abs(posed.vertices_m - vertices).max() < 1e-5
    assert np.abs(posed.joints_m - joints).max() < 1e-5


def test_the_zero_pose_is_the_template(body: Body) -> None:
    posed = pose_body(body, (), np.zeros((55, 3)))
    np.testing.assert_allclose(posed.vertices_m, body.vertices_m, atol=1e-12)
    np.testing.assert_allclose(posed.joints_m, body.joint_regressor @ body.vertices_m, atol=1e-12)


def test_the_root_turns_the_body_about_its_pelvis(body: Body) -> None:
    pose = np.zeros((55, 3))
    pose[0] = (0, np.pi / 2, 0)
    pelvis = body.joint_regressor[0] @ body.vertices_m
    turned = pose_body(body, (), pose).vertices_m - pelvis
    rest = body.vertices_m - pelvis
    np.testing.assert_allclose(
        turned, np.stack([rest[:, 2], rest[:, 1], -rest[:, 0]], 1), atol=1e-9
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pose": np.zeros((22, 3))}, r"pose has shape \(22, 3\), allowed is \(55, 3\)"),
        ({"betas": np.zeros(301)}, "takes a list of up to 300 numbers"),
        ({"expression": np.zeros((2, 2))}, "takes a list of up to 100 numbers"),
    ],
)
def test_arrays_that_do_not_fit_the_body_are_refused(
    body: Body, arguments: dict[str, np.ndarray], message: str
) -> None:
    with pytest.raises(BodyError, match=message):
        pose_body(body, **{"betas": (), "pose": np.zeros((55, 3)), **arguments})


vectors = st.lists(st.floats(-6, 6), min_size=3, max_size=3)


@settings(max_examples=50, deadline=None)
@given(vectors)
def test_rotation_matrices_are_rotations_that_keep_their_axis(vector: list[float]) -> None:
    rotation = rotation_matrices(vector)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(rotation @ vector, vector, atol=1e-9)
    assert np.linalg.det(rotation) == pytest.approx(1)


# ------------------------------------------------------------------------- world


def test_to_world_puts_z_up_and_faces_minus_y() -> None:
    np.testing.assert_array_equal(to_world([0.0, 1.0, 0.0]), [0, 0, 1])
    np.testing.assert_array_equal(to_world([0.0, 0.0, 1.0]), [0, -1, 0])
    np.testing.assert_array_equal(to_world([1.0, 0.0, 0.0]), [1, 0, 0])


def test_the_ground_offset_puts_the_lowest_vertex_at_zero() -> None:
    assert ground_offset_m(np.array([[0, 0, -0.7], [1, 1, 2.0]])) == 0.7


def test_stature_is_the_vertical_extent_of_the_shaped_body(body: Body) -> None:
    betas = [0.5, -1.0]
    shaped = body.vertices_m + body.shapedirs[:, :, :2] @ betas
    assert stature_m(body, betas) == pytest.approx(np.ptp(shaped[:, 1]))


# ------------------------------------------------------------------------- surfaces


def test_a_surface_of_the_naked_body_is_posed_as_the_body_is(body: Body) -> None:
    rng = np.random.default_rng(4)
    betas, pose = rng.normal(size=10), rng.normal(0, 0.5, (55, 3))
    naked, surface = pose_body(body, betas, pose), pose_surface(body, body.surface(), betas, pose)
    np.testing.assert_allclose(surface.vertices_m, naked.vertices_m, atol=1e-6)
    np.testing.assert_array_equal(surface.joints_m, naked.joints_m)


def test_a_genuine_file_has_no_shells_and_limens_own_has_two(body: Body, neutral: Body) -> None:
    assert not body.shells
    assert sorted(neutral.shells) == ["skirt", "tights"]


def test_half_a_shell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BodyError, match="has some but not all of limen_tights_v, limen_tights_f"):
        load_body(save(tmp_path / "b.npz", limen_tights_v=np.zeros((3, 3))))


# ------------------------------------------------------------------------- broken files


@pytest.mark.parametrize(
    ("key", "values", "says"),
    [
        ("v_template", np.full((V, 3), np.nan), "v_template holds nan to nan"),
        ("weights", np.full((V, 55), "x"), "weights holds values of type <U1"),
        ("posedirs", np.full((V, 3, 486), 1e300), r"posedirs holds 1e\+300 to"),
        ("f", np.zeros((F, 3)), "f holds values of type float64, allowed are whole numbers"),
    ],
)
def test_values_that_are_no_usable_numbers_are_refused(
    tmp_path: Path, key: str, values: np.ndarray, says: str
) -> None:
    with pytest.raises(BodyError, match=says):
        load_body(save(tmp_path / "b.npz", **{key: values}))


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    path = save(tmp_path / "b.npz")
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 100] = bytes(100)
    path.write_bytes(data)
    with pytest.raises(BodyError, match=r"b\.npz is damaged"):
        load_body(path)


def test_an_archive_that_unpacks_without_end_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "b.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weights.npy", b"")
        archive.infolist()[0].file_size = 3 << 30  # what the directory will say
    with pytest.raises(BodyError, match=r"unpacks to 3\.2 GB"):
        load_body(path)
