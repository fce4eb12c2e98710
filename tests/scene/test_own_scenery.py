"""A user's own .blend as a scenery: put by its anchor, never run, refused with a reason."""

import math

import bpy
import numpy as np
import pytest
from limen.addon.core.assets import AssetError
from limen.addon.core.lighting import layers_of, load_lightings
from limen.addon.core.study import OwnScenery, parse_study
from limen.addon.scene import scenery, stage
from limen.addon.scene.mesh import make_mesh

pytestmark = pytest.mark.render

SQUARE = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
FACE = np.array([[0, 1, 2, 3]])


@pytest.fixture
def yard(blender, tmp_path, small_study):
    """Write a yard: ground at (10, 20, 5), a post 3 m along the anchor's Y, a lamp, traps.

    Returns a function that writes it, with changes, and gives the study that names it.
    """
    ran = tmp_path / "ran"

    def write(change=lambda objects: None, collection="Limen", anchor="Limen Anchor"):
        held = bpy.data.collections.new("Limen")
        ground = bpy.data.objects.new("Yard", make_mesh("Yard", SQUARE * 50, FACE, smooth=False))
        ground.location = (10, 20, 5)
        post = bpy.data.objects.new("Post", make_mesh("Post", SQUARE * 0.1 + [0, 0, 1], FACE))
        post.location = (10 + 3, 20, 5)  # east of the anchor, which looks east
        lamp = bpy.data.objects.new("Own Lamp", bpy.data.lights.new("Own Lamp", "POINT"))
        here = bpy.data.objects.new("Limen Anchor", None)
        here.location = (10, 20, 5)
        here.rotation_euler = (0, 0, -math.pi / 2)
        material = bpy.data.materials.new("Yard")
        if bpy.app.version < (5, 0):
            material.use_nodes = True
        ground.data.materials.append(material)
        driver = post.driver_add("location", 2).driver
        driver.expression = f"0 if open({str(ran)!r}, 'w') else 0"
        text = bpy.data.texts.new("trap.py")
        text.use_module = True
        text.write(f"open({str(ran)!r}, 'w')\n")
        for item in (ground, post, lamp):
            held.objects.link(item)
        objects = {"ground": ground, "post": post, "anchor": here, "material": material}
        change(objects)
        bpy.data.libraries.write(str(tmp_path / "yard.blend"), {held, here, text}, fake_user=True)
        for item in (ground, post, lamp, here):
            bpy.data.objects.remove(item)
        bpy.data.collections.remove(held)
        bpy.data.texts.remove(text)
        bpy.data.orphans_purge(do_recursive=True)
        own = OwnScenery("yard", collection, anchor)
        study = parse_study(
            small_study.read_text().replace('sceneries = ["desert"]', 'sceneries = ["yard"]')
            + f'\n[[scenery]]\nname = "yard"\ncollection = "{own.collection}"\n'
            f'anchor = "{own.anchor}"\n'
        )
        return scenery.declare_own(study, [tmp_path])

    write.ran = ran
    yield write
    scenery._own_files.clear()
    stage.set_scenery("desert")


def test_the_anchor_is_put_at_the_origin_and_looks_north(yard):
    yard()
    stage.set_scenery("yard")
    bpy.context.view_layer.update()
    post, ground = bpy.data.objects["Post"], bpy.data.objects["Yard"]
    assert tuple(ground.matrix_world.translation) == pytest.approx((0, 0, 0), abs=1e-5)
    assert tuple(post.matrix_world.translation)[:2] == pytest.approx((0, 3), abs=1e-5)


def test_nothing_in_the_file_is_run_and_its_lamps_stay_out(yard):
    yard()
    yard.ran.unlink(missing_ok=True)
    stage.set_scenery("yard")
    stage.stage_scene().view_layers[0].update()
    assert not yard.ran.exists()
    assert "trap.py" not in bpy.data.texts
    collection = bpy.data.collections[scenery.COLLECTION]
    assert {item.name for item in collection.all_objects} == {"Yard", "Post"}


def test_its_light_is_the_studys(yard):
    yard()
    stage.set_scenery("yard")
    sky = [x for x in layers_of([load_lightings()["noon_south"]]) if x.kind == "uniform"]
    assert stage.measure_irradiance(stage.stage_scene(), sky)["dome-uniform"] == pytest.approx(
        math.pi, rel=0.03
    )


def test_the_frozen_study_has_the_hash_of_the_file_and_refuses_another(yard, tmp_path):
    study = yard()
    (own,) = study.own_sceneries
    assert len(own.blend_sha256) == 64
    assert own.blend_sha256 in scenery.scenery_version("yard")
    (tmp_path / "yard.blend").write_bytes(b"another")
    with pytest.raises(
        AssetError, match=r"'yard' is another file .* blend_sha256 " + own.blend_sha256
    ):
        scenery.declare_own(study, [tmp_path])


def test_a_missing_file_is_said_with_where_it_was_looked_for(yard, tmp_path):
    study = yard()
    (tmp_path / "yard.blend").unlink()
    with pytest.raises(
        AssetError, match=r"looked for .*yard\.blend; put the file beside the study"
    ):
        scenery.declare_own(study, [tmp_path])


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ({"collection": "Yrad"}, r"yard.blend has no collection 'Yrad' \(it has Limen\)"),
        ({"anchor": "Here"}, r"yard.blend has no object 'Here' \(it has Limen Anchor"),
    ],
)
def test_what_the_file_lacks_is_named_beside_what_it_has(yard, names, says):
    yard(**names)
    with pytest.raises(scenery.SceneryError, match=says):
        stage.set_scenery("yard")


def test_a_file_that_is_no_blend_is_refused(yard, tmp_path):
    (tmp_path / "yard.blend").write_bytes(b"no blend")
    plain = parse_study(
        'name="a"\nseed=1\nlightings=["night"]\nsceneries=["yard"]\nactions=["walking"]\n'
        '[camera]\nsensor="syndorbench"\ndistances_m=[9]\nazimuths_deg=[0]\nelevations_deg=[0]\n'
        '[[subject]]\nname="a"\n[[scenery]]\nname="yard"\n'
    )
    scenery.declare_own(plain, [tmp_path])
    with pytest.raises(scenery.SceneryError, match=r"cannot be read as a \.blend file"):
        stage.set_scenery("yard")


def shining(objects):
    nodes = objects["material"].node_tree.nodes
    surface = next(node for node in nodes if node.type == "BSDF_PRINCIPLED")
    surface.inputs["Emission Color"].default_value = (1, 1, 1, 1)
    surface.inputs["Emission Strength"].default_value = 2.0


def without_picture(objects):
    node = objects["material"].node_tree.nodes.new("ShaderNodeTexImage")
    node.image = bpy.data.images.new("Lost", 4, 4)
    node.image.source, node.image.filepath = "FILE", "//lost.png"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (shining, "'Yard' of yard.blend shines by itself"),
        (without_picture, r"needs the picture .*lost\.png"),
    ],
)
def test_what_would_spoil_every_picture_is_refused(yard, change, says):
    yard(change)
    with pytest.raises(scenery.SceneryError, match=says):
        stage.set_scenery("yard")
