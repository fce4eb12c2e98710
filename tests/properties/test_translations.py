"""The sidebar in Simplified Chinese."""

import bpy
import limen
import messages
import pytest

pytestmark = pytest.mark.render


@pytest.fixture(scope="module", autouse=True)
def blender():
    """An empty Blender with Limen in it."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not hasattr(bpy.types.Scene, "limen"):
        limen.register()


def test_every_text_is_translated():
    assert messages.missing() == []


def test_no_translation_is_left_of_a_text_that_is_gone():
    assert messages.unused() == []


def test_a_text_with_values_in_it_is_a_sentence_that_can_be_translated():
    assert messages.put_together() == []


def test_a_translation_has_the_places_of_its_sentence():
    for english, chinese in messages.translated().items():
        assert messages.blanks(english) == messages.blanks(chinese), english


def test_translations_are_chinese_and_end_without_a_full_stop():
    for english, chinese in messages.translated().items():
        assert any("\u4e00" <= letter <= "\u9fff" for letter in chinese), english
        assert not chinese.endswith("。"), english


def test_blender_shows_them_where_its_language_is_chinese():
    view = bpy.context.preferences.view
    if "zh_HANS" not in bpy.app.translations.locales:
        pytest.skip("this Blender was built without languages")
    before = view.language
    try:
        view.language, view.use_translate_interface = "zh_HANS", True
        assert bpy.app.translations.pgettext("Place Rig", "Operator") == "放置摄像机架"
        assert bpy.app.translations.pgettext_iface("Viewpoints") == "视点"
    finally:
        view.language = before
