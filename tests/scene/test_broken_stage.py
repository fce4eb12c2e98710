"""What a user deletes or renames of the stage is made again, and nothing of it is left twice."""

import bpy
import pytest
from limen.addon.operators import rig
from limen.addon.scene import stage
from limen.addon.scene.scenery import COLLECTION

pytestmark = pytest.mark.render

OPERATORS = bpy.ops.limen


@pytest.fixture
def scene(blender, small_study):
    """The small study, open, with its rig placed."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    OPERATORS.open_study(filepath=str(small_study))
    OPERATORS.place_rig()
    yield bpy.context.scene
    bpy.ops.wm.read_factory_settings(use_empty=True)
    stage.setup_stage()


def remove_all(blocks) -> None:
    for block in list(blocks):
        blocks.remove(block)


def rename_all(blocks) -> None:
    for block in list(blocks):
        block.name = "renamed"


@pytest.mark.parametrize(
    "break_it",
    [
        lambda: bpy.data.objects.remove(bpy.context.scene.camera),
        lambda: setattr(bpy.context.scene, "camera", None),
        lambda: setattr(bpy.context.scene, "camera", bpy.data.objects.new("empty", None)),
        lambda: remove_all(bpy.data.objects),
        lambda: remove_all(bpy.data.lights),
        lambda: remove_all(bpy.data.worlds),
        lambda: remove_all(bpy.data.collections),
        lambda: remove_all(bpy.data.meshes),
        lambda: bpy.data.scenes.remove(bpy.data.scenes[stage.BARE]),
        lambda: setattr(bpy.context.scene, "name", "mine"),
        lambda: rename_all(bpy.data.objects),
        lambda: rename_all(bpy.data.collections),
        lambda: rename_all(bpy.data.worlds),
    ],
    ids=[
        "camera deleted",
        "no active camera",
        "an empty as camera",
        "objects deleted",
        "lights deleted",
        "worlds deleted",
        "collections deleted",
        "meshes deleted",
        "bare scene deleted",
        "scene renamed",
        "objects renamed",
        "collections renamed",
        "worlds renamed",
    ],
)
def test_a_broken_stage_is_whole_again_when_a_cell_is_shown(scene, break_it):
    def there():
        layer = stage.stage_scene().view_layers[0]
        layer.update()
        found = [
            (item.type, round(item.matrix_world.translation.length, 3))
            for item in layer.objects
            if item.type != "EMPTY"
        ]
        return sorted(found)

    before = there()
    break_it()
    rig.follow_study(bpy.context.scene)  # as after an edit: it waits for what is missing
    assert OPERATORS.show_cell() == {"FINISHED"}
    assert stage.is_whole()
    assert there() == before


def test_a_copy_of_the_scene_says_where_the_study_is_edited(scene):
    bpy.ops.scene.new(type="FULL_COPY")
    assert bpy.context.scene != scene and bpy.context.scene.limen.is_open
    with pytest.raises(RuntimeError, match="the study is edited in the scene Limen"):
        OPERATORS.show_cell()


def test_a_scenery_of_which_things_were_deleted_is_built_again(scene):
    objects = bpy.data.collections[COLLECTION].all_objects
    count = len(objects)
    bpy.data.objects.remove(objects[0])
    OPERATORS.show_cell()
    assert len(bpy.data.collections[COLLECTION].all_objects) == count


def test_a_test_person_that_lost_its_material_is_replaced(scene):
    OPERATORS.add_test_person()
    remove_all(bpy.data.materials)
    assert OPERATORS.add_test_person() == {"FINISHED"}
