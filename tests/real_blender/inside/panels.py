"""Run by tests inside a Blender with a window: show some of Limen's panels, opened, and no others.

Defines ``show_panels``; ``limen_panels`` with all of them by name, parents first; and, where
``note_texts`` was called, ``drawn_texts``: the texts that panels gave to be drawn.
"""

import bpy

limen_panels = {cls.__name__: cls for cls in limen("addon.ui.panels")._CLASSES}  # noqa: F821
lists = [cls for cls in limen_panels.values() if issubclass(cls, bpy.types.UIList)]
limen_panels = {k: cls for k, cls in limen_panels.items() if cls not in lists}
drawn_texts = set()


def show_panels(*names):
    """Register panels anew with their sub-panels, open at first; by default all of them."""
    drawn_texts.clear()
    for cls in reversed(limen_panels.values()):
        if cls.is_registered:
            bpy.utils.unregister_class(cls)
    for name, cls in limen_panels.items():
        parent = getattr(cls, "bl_parent_id", name)
        if not names or name in names or parent in names:
            cls.bl_options = set()
            bpy.utils.register_class(cls)


def scroll(pages):
    """Scroll the sidebar by halves of its height, as far as there is more; up if below 0."""
    window, area = area_of()  # noqa: F821
    region = next(r for r in area.regions if r.type == "UI")
    with bpy.context.temp_override(window=window, area=area, region=region):
        step = bpy.ops.view2d.scroll_down if pages > 0 else bpy.ops.view2d.scroll_up
        for _ in range(abs(pages) * region.height // 80):
            step()  # by 40 pixels


class Noting:
    """A layout, or a panel with one, that notes the texts it is given."""

    def __init__(self, noted):
        object.__setattr__(self, "_noted", noted)

    def __setattr__(self, name, value):
        setattr(self._noted, name, value)

    def __getattr__(self, name):
        value = getattr(self._noted, name)
        if isinstance(value, bpy.types.UILayout):
            return Noting(value)
        if not callable(value) or not isinstance(self._noted, bpy.types.UILayout):
            return value

        def call(*arguments, **named):
            drawn_texts.update(texts_of(name, arguments, named))
            made = value(*arguments, **named)
            return Noting(made) if isinstance(made, bpy.types.UILayout) else made

        return call


def texts_of(name, arguments, named):
    """Yield the texts that a call of a layout's method draws, values of fields left out."""
    text = named.get("text")
    if name in ("row", "column"):
        text = named.get("heading")
    elif name == "operator" and text is None:
        group, _, operator = arguments[0].partition(".")
        text = getattr(getattr(bpy.ops, group), operator).get_rna_type().name
    elif name == "prop":
        owner, key = arguments
        found = owner.bl_rna.properties[key]
        text = found.name if text is None else text
        if found.type == "ENUM" and not named.get("expand"):
            yield bpy.types.UILayout.enum_item_name(owner, key, getattr(owner, key))
    if text:
        yield text


def note_texts():
    """Have the panels and their lists note what they draw."""
    for cls in limen_panels.values():
        cls.draw = (lambda draw: lambda self, context: draw(Noting(self), context))(cls.draw)
    for cls in lists:
        cls.draw_item = noted_item(cls.draw_item)


def noted_item(draw):
    """Return a list's draw of an item, with the arguments that Blender counts."""

    def draw_item(self, context, layout, data, item, icon, active, name, index=0, flag=0):
        draw(self, context, Noting(layout), data, item, icon, active, name, index, flag)

    return draw_item
