"""Whatever a disk or a hand has broken in a dataset, the same command makes it whole again."""

import json
import shutil

import pytest
from limen.addon.core.dataset import compare, done_views, open_dataset
from limen.addon.core.image_io import LayerImage, read_layers, write_layers

pytestmark = pytest.mark.render


@pytest.fixture
def damaged(small_dataset, tmp_path):
    """A copy to break."""
    return shutil.copytree(small_dataset.root, tmp_path / "dataset")


def cut_in_half(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def last_row(path) -> dict:
    return json.loads(path.read_text().splitlines()[-1])


def with_person(root) -> list[dict]:
    return [row for row in open_dataset(root).views.values() if row["target_present"]]


def test_damage_of_every_kind_is_repaired_by_running_again(
    damaged, render_grid, small_study, small_dataset
):
    people = with_person(damaged)
    plate = damaged / f"light/plates/{people[0]['plate_id']}.exr"
    same_plate = {v["view_id"] for v in small_dataset.views.values() if v["plate_id"] in str(plate)}
    cut_in_half(plate)
    cut_in_half(damaged / f"media/clean/{people[1]['view_id']}-overcast.png")
    (damaged / f"masks/{people[1]['view_id']}.full.png").unlink()
    (damaged / f"light/crops/{people[2]['view_id']}.exr").write_bytes(b"")
    (part,) = damaged.glob("views/*.jsonl")
    last = last_row(part)["view_id"]
    part.write_bytes(part.read_bytes()[:-40])  # a broken last line
    broken = same_plate | {people[1]["view_id"], people[2]["view_id"], last}
    assert done_views(damaged, ["overcast"]) == set(small_dataset.views) - broken

    render_grid(small_study, damaged)
    assert compare(damaged, small_dataset.root) == []
    assert open_dataset(damaged).broken_lines == []
    log = json.loads((damaged / "log.jsonl").read_text().splitlines()[-1])
    assert log["rendered"] == len(broken)  # and nothing else


def test_a_plate_of_another_size_is_made_anew(damaged, render_grid, small_study, small_dataset):
    plate = damaged / f"light/plates/{with_person(damaged)[0]['plate_id']}.exr"
    quarter = {
        name: LayerImage(layer.pixels[::2, ::2], (0, 0, 28, 48))
        for name, layer in read_layers(plate).items()
    }
    write_layers(plate, quarter, (28, 48))
    render_grid(small_study, damaged)
    assert compare(damaged, small_dataset.root) == []


def test_a_part_that_is_lost_is_rendered_again(damaged, render_grid, small_study, small_dataset):
    (part,) = damaged.glob("views/*.jsonl")
    lines = part.read_text().splitlines(keepends=True)
    rows = {json.loads(line)["view_id"]: line for line in lines}
    index = (damaged / "index" / part.name).read_text().splitlines(keepends=True)
    # As if three processes had rendered it, and the disk of one were gone.
    for number, view_id in enumerate(rows):
        own = [line for line in index if json.loads(line)["view_id"] == view_id]
        if number != 1:
            name = f"shard-{number % 3}-of-3.jsonl"
            for directory, text in (("views", rows[view_id]), ("index", "".join(own))):
                with (damaged / directory / name).open("a") as file:
                    file.write(text)
    part.unlink()
    (damaged / "index" / part.name).unlink()
    assert len(open_dataset(damaged).views) == 5

    render_grid(small_study, damaged)
    assert compare(damaged, small_dataset.root) == []
