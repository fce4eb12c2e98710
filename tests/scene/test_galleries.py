"""Looking through poses, textures and sceneries, adding them, and the person that follows edits."""

import bpy
import numpy as np
import pytest
from limen.addon.core.assets import file_sha256
from limen.addon.operators import library
from limen.addon.operators.factors import levels_of_factor
from limen.addon.properties import live
from limen.addon.scene import scenery, stage
from limen.addon.scene.checks import stand_faults
from limen.addon.scene.mesh import make_mesh

pytestmark = pytest.mark.render

BEYOND = "choking_twisting"  # the new study walks and kicks


@pytest.fixture
def settings(blender):
    """A new study whose rig stands."""
    assert bpy.ops.limen.new_study() == {"FINISHED"}
    with bpy.context.temp_override(scene=bpy.data.scenes["Limen"]):
        assert bpy.ops.limen.place_rig() == {"FINISHED"}
        yield bpy.context.scene.limen
    scenery._own_files.clear()
    stage.set_scenery("desert")


def follow():
    """Do what the window's timer does after an edit."""
    live.current_state(bpy.context.scene)
    library._follow(bpy.context.scene)


def body() -> list[tuple[float, ...]]:
    vertices = bpy.data.objects["Limen Subject"].data.vertices
    return [tuple(vertices[i].co) for i in range(0, len(vertices), 500)]


def study_text() -> str:
    return live.current_state(bpy.context.scene).text


def test_a_pose_that_the_study_lacks_is_shown_and_neither_study_nor_cell_changes(settings):
    before, cell = study_text(), settings.cell.pose
    bpy.ops.limen.show_level(factor="pose", level=BEYOND)
    assert library.standing("pose") == BEYOND
    assert (study_text(), settings.cell.pose, settings.view_id) == (before, cell, "")


def test_a_pose_that_is_shown_stays_when_a_texture_is_tried_on(settings):
    bpy.ops.limen.show_level(factor="pose", level=BEYOND)
    bpy.ops.limen.show_level(factor="texture", level="limen-texture-00020")
    assert (library.standing("pose"), library.standing("texture")) == (
        BEYOND,
        "limen-texture-00020",
    )


def test_a_pose_that_is_added_becomes_the_cells_and_brings_its_action(settings):
    bpy.ops.limen.show_level(factor="pose", level=BEYOND)
    assert bpy.ops.limen.add_pose() == {"FINISHED"}
    follow()
    assert settings.cell.pose == library.standing("pose") == BEYOND
    assert [level.name for level in settings.study.actions] == ["walking", "kicking", "choking"]
    assert settings.view_id.startswith("v")


def test_mirrored_twice_the_person_stands_as_it_did(settings):
    pose, before = library.standing("pose"), body()
    assert bpy.ops.limen.mirror_pose() == {"FINISHED"}
    assert library.standing("pose") == f"{pose}_mirrored"
    assert body() != before
    bpy.ops.limen.mirror_pose()
    assert (library.standing("pose"), body()) == (pose, before)


def test_a_mirror_image_that_is_added_is_listed_beside_the_poses_that_were_shown(settings):
    views = live.current_state(bpy.context.scene).study.poses
    assert views == ()  # all of the actions
    shown = [name for name, pose in library.load_poses().items() if pose.action == "walking"]
    bpy.ops.limen.mirror_pose()
    mirrored = library.standing("pose")
    assert mirrored not in library.offered(bpy.context.scene, "pose")
    assert bpy.ops.limen.add_pose() == {"FINISHED"}
    follow()
    poses = live.current_state(bpy.context.scene).study.poses
    assert {mirrored, *shown} <= set(poses)
    assert settings.cell.pose == mirrored in library.offered(bpy.context.scene, "pose")
    assert bpy.ops.limen.remove_pose() == {"FINISHED"}
    assert mirrored not in live.current_state(bpy.context.scene).study.poses


def test_the_gallery_goes_on_from_the_pose_of_a_mirror_image(settings):
    names = library.offered(bpy.context.scene, "pose")
    place = names.index(library.standing("pose"))
    bpy.ops.limen.mirror_pose()
    bpy.ops.limen.step_gallery(factor="pose", step=1)
    assert library.standing("pose") == names[place + 1]


def test_a_camera_that_the_rig_lacks_is_refused_and_nothing_changes(settings):
    before = settings.view_id, settings.cell.lighting
    for show in (
        lambda: bpy.ops.limen.show_cell(camera=97, lighting="night"),
        lambda: bpy.ops.limen.go_to_camera(number=97),
    ):
        with pytest.raises(RuntimeError, match="camera 97: the rig has 96, numbered from 1"):
            show()
    assert (settings.view_id, settings.cell.lighting) == before
    bpy.ops.limen.show_cell(camera=96)
    assert settings.view_id != before[0]


def test_the_last_pose_of_an_action_takes_its_action_with_it(settings):
    kicks = [name for name in library.load_poses() if name.startswith("kicking")]
    for name in kicks:
        assert bpy.ops.limen.remove_pose(pose=name) == {"FINISHED"}
    assert not settings.study.all_poses
    assert [level.name for level in settings.study.actions] == ["walking"]
    assert live.current_state(bpy.context.scene).problems == ()


def test_switching_all_poses_off_changes_no_view(settings):
    views = live.current_state(bpy.context.scene).views
    settings.study.all_poses = False
    assert live.current_state(bpy.context.scene).views == views


def test_the_person_follows_its_shape_and_yaw(settings):
    before = body()
    settings.study.subjects[0].yaw_deg = 90
    follow()
    turned = body()
    assert turned != before
    bpy.ops.limen.draw_shape(seed=3)
    follow()
    assert body() != turned
    bpy.ops.limen.reset_shape()
    settings.study.subjects[0].yaw_deg = 0
    follow()
    assert body() == before


def test_an_edit_that_does_not_concern_the_person_leaves_it_alone(settings):
    item = bpy.data.objects["Limen Subject"].data.session_uid
    settings.study.samples = 7
    follow()
    assert bpy.data.objects["Limen Subject"].data.session_uid == item


def test_the_subject_that_is_chosen_in_the_list_is_the_one_that_stands(settings):
    bpy.ops.limen.add_level(factor="subject")
    settings.subject_index = 1
    follow()
    assert library.standing("subject") == settings.cell.subject == "subject-2"
    bpy.ops.limen.step(factor="subject", step=-1)
    assert (library.standing("subject"), settings.subject_index) == ("sam", 0)


def test_a_body_that_is_not_there_is_said_and_the_person_stays(settings):
    before = body()
    settings.study.subjects[0].body = "smplx-male"
    follow()
    assert "'smplx-male'" in settings.person.problem
    assert body() == before
    settings.study.subjects[0].body = "male"
    follow()
    assert settings.person.problem == ""
    assert body() != before


def test_another_body_forgets_the_hash_of_the_one_before(settings):
    subject = settings.study.subjects[0]
    subject.body_sha256 = "0" * 64
    subject.body = "female"
    assert subject.body_sha256 == ""


def test_a_drawn_shape_is_its_seeds(settings):
    betas = settings.study.subjects[0].betas
    bpy.ops.limen.draw_shape(seed=3)
    three = tuple(betas)
    bpy.ops.limen.draw_shape(seed=4)
    assert tuple(betas) != three
    bpy.ops.limen.draw_shape(seed=3)
    assert tuple(betas) == three
    assert max(map(abs, three)) <= 2


def test_a_person_in_the_ground_is_told(settings):
    vertices = bpy.data.objects["Limen Subject"].data.vertices
    body_m = np.array([tuple(vertex.co) for vertex in vertices])
    assert stand_faults(body_m) == ()
    assert ("feet", "is 10 cm in the ground") in stand_faults(body_m - [0, 0, 0.1])
    assert bpy.ops.limen.check_person() == {"FINISHED"}
    assert settings.person.faults == ""


def test_hidden_ground_is_told_and_hinders_nothing(settings):
    ground = [i for i in bpy.data.objects if i.name.startswith("Limen Ground")]
    for item in ground:
        item.hide_viewport = True
    try:
        others = [i for i in bpy.data.collections["Limen Scenery"].all_objects if i not in ground]
        hidden = [item for item in others if not item.hide_viewport]
        for item in hidden:
            item.hide_viewport = True
        assert bpy.ops.limen.show_level(factor="pose", level=BEYOND) == {"FINISHED"}
        assert "hidden ground" in settings.person.faults
    finally:
        for item in (*ground, *hidden):
            item.hide_viewport = False


def test_the_gallery_is_filtered_by_action_by_name_and_by_the_study(settings):
    everything = library.offered(bpy.context.scene, "pose")
    assert everything == tuple(library.load_poses())
    settings.person.pose_filter = "choking"
    assert {library.load_poses()[n].action for n in library.offered(bpy.context.scene, "pose")} == {
        "choking"
    }
    settings.person.pose_search = "twist"
    assert library.offered(bpy.context.scene, "pose") == (BEYOND,)
    settings.person.pose_search = ""
    settings.person.pose_filter = "STUDY"
    live.current_state(bpy.context.scene)
    shown = {library.load_poses()[n].action for n in library.offered(bpy.context.scene, "pose")}
    settings.person.pose_filter = "ALL"
    assert shown == {"walking", "kicking"}


def test_stepping_the_gallery_goes_round_its_ends(settings):
    settings.person.pose_filter = "choking"
    names = library.offered(bpy.context.scene, "pose")
    bpy.ops.limen.show_level(factor="pose", level=names[-1])
    bpy.ops.limen.step_gallery(factor="pose", step=1)
    assert library.standing("pose") == names[0]
    bpy.ops.limen.step_gallery(factor="pose", step=-1)
    assert library.standing("pose") == names[-1]
    settings.person.pose_filter = "ALL"


def test_the_picture_menu_shows_what_stands_and_shows_what_is_chosen(settings):
    galleries = bpy.context.window_manager.limen_galleries
    assert galleries.pose == library.standing("pose")
    galleries.pose = BEYOND
    assert galleries.pose == library.standing("pose") == BEYOND
    items = galleries.bl_rna.properties["scenery"]
    assert items.type == "ENUM" and galleries.scenery == "desert"


def test_a_texture_is_tried_on_and_used(settings):
    bpy.ops.limen.number_texture(number=57)
    assert library.standing("texture") == "limen-texture-00057"
    assert bpy.ops.limen.use_texture() == {"FINISHED"}
    follow()
    assert settings.cell.texture == "limen-texture-00057"
    assert "limen-texture-00057" in study_text()


def test_there_is_no_level_of_an_unknown_name(settings):
    with pytest.raises(RuntimeError, match="There is no pose 'flying'"):
        bpy.ops.limen.show_level(factor="pose", level="flying")


def _write_yard(path):
    held = bpy.data.collections.new("Limen")
    corners = np.array([[-9.0, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0]])
    face = np.array([[0, 1, 2, 3]])
    ground = bpy.data.objects.new("Yard", make_mesh("Yard", corners, face))
    anchor = bpy.data.objects.new("Limen Anchor", None)
    held.objects.link(ground)
    bpy.data.libraries.write(str(path), {held, anchor}, fake_user=True)
    bpy.data.objects.remove(ground)
    bpy.data.objects.remove(anchor)
    bpy.data.collections.remove(held)


def test_an_own_scenery_lies_beside_the_study_and_is_named_with_its_hash(settings, tmp_path):
    assert not bpy.ops.limen.add_own_scenery.poll()  # no folder yet that it could lie in
    (tmp_path / "here").mkdir()
    bpy.ops.limen.save_study_as(filepath=str(tmp_path / "here" / "study.toml"))
    _write_yard(tmp_path / "yard.blend")
    with pytest.raises(RuntimeError, match="where no other machine would look"):
        bpy.ops.limen.add_own_scenery(filepath=str(tmp_path / "yard.blend"))
    path = (tmp_path / "yard.blend").rename(tmp_path / "here" / "yard.blend")
    with pytest.raises(RuntimeError, match="has no collection 'Yard': it has Limen"):
        bpy.ops.limen.add_own_scenery(filepath=str(path), collection="Yard")
    assert bpy.ops.limen.add_own_scenery(filepath=str(path)) == {"FINISHED"}
    added = settings.study.sceneries["yard"]
    assert (added.own, added.blend_sha256) == (True, file_sha256(path))
    assert live.current_state(bpy.context.scene).problems == ()
    assert bpy.ops.limen.show_level(factor="scenery", level="yard") == {"FINISHED"}
    assert settings.cell.scenery == library.standing("scenery") == "yard"


@pytest.mark.parametrize(
    ("factor", "added"), [("azimuth", 22.5), ("elevation", 90.0), ("unoccluded", 0.25)]
)
def test_a_number_that_is_added_is_one_that_the_factor_lacks(blender, factor, added):
    bpy.ops.limen.new_study()  # eight azimuths and four elevations: the steps of 45 are all there
    levels = levels_of_factor(bpy.context.scene.limen, factor)
    before = [level.value for level in levels]
    bpy.ops.limen.add_level(factor=factor)
    assert levels[-1].value == pytest.approx(added)
    assert levels[-1].value not in before
