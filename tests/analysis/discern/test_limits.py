"""Where seeing ends: labels joined with what they depend on, and the curves through them."""

import pytest
from limen.addon.core.dataset import open_dataset
from limen.analysis.discern.limits import curves_over_density, curves_over_lux, grids, looked
from limen.analysis.discern.page import build_report
from limen.analysis.discern.table import LabelsChoiceError, LabelsError, append_labels, shown_media


def label_all(root, seen, by="human", **more):
    """Label every image of a dataset by a rule of its row and variant."""
    dataset = open_dataset(root)
    rows = [
        {
            "id": key[0],
            "variant": key[1],
            "human_discernable": seen(row) if row["target_present"] else 0,
            "probability": None,
            "by": by,
            **more,
        }
        for key, row in shown_media(dataset).items()
    ]
    append_labels(root, rows)
    return {(row["id"], row["variant"]): row for row in rows}


def near(row):
    return int(row["distance_m"] < 30)


def test_labels_are_joined_with_density_light_and_image(developed):
    labels = label_all(developed, near)
    dataset = open_dataset(developed)
    found = looked(dataset, labels)
    present = [key for key in labels if dataset.index[key[0]]["target_present"]]
    assert sorted(one.key for one in found) == sorted(present)  # nobody answered about the others
    for one in found:
        row = dataset.index[one.key[0]]
        assert one.lux == row["illuminance_nominal_lx"] and one.band == row["band"]
        assert one.image == ("nv" if one.key[1] == "nv" else "raw")
        assert one.px_per_m == dataset.views[row["view_id"]]["density_nominal_px_per_m"]
        assert one.seen == near(row)


def test_false_alarms_are_answers_to_catch_trials(developed):
    dataset = open_dataset(developed)
    for more, share in (
        ({"answer": 1}, 1.0),
        ({"votes": {"visible": 1, "unsure": 1, "not_visible": 2}}, 0.375),
    ):
        found = looked(dataset, label_all(developed, near, **more))
        assert {one.seen for one in found if not one.present} == {share}


def test_a_threshold_lies_between_the_densities_that_are_seen_and_not(developed):
    labels = label_all(developed, near)
    curves = curves_over_density(looked(open_dataset(developed), labels))
    day = next(curve for curve in curves if curve.slice == "day")
    assert 12 < day.fit.threshold(0.5).value < 40


def test_a_grid_has_the_share_seen_of_each_cell(developed):
    labels = label_all(developed, near)
    raw, nv = grids(looked(open_dataset(developed), labels))
    assert (raw.image, nv.image) == ("raw", "nv")
    assert raw.px_per_m == pytest.approx((12, 40, 80), rel=1e-3)
    assert len(raw.lux) == 3 and len(nv.lux) == 2
    assert set(raw.seen) == {(0.0, 1.0, 1.0)}


def test_a_curve_that_cannot_be_fitted_says_why(developed):
    labels = label_all(developed, near)
    found = [one for one in looked(open_dataset(developed), labels) if one.lux < 1]
    assert {curve.fit for curve in curves_over_lux(found)} == {None}
    assert "two levels" in curves_over_lux(found)[0].problem


def test_a_page_of_human_labels_says_people_and_nothing_of_a_simulation(developed, tmp_path):
    label_all(developed, near)
    summary = build_report(developed, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert summary.model is None and summary.curves >= 3
    assert "to people" in text and "limen discern fit" in text
    assert "simulated" not in text.lower().partition("</script>")[2]


def test_a_page_of_both_kinds_of_labels_must_choose(developed, tmp_path):
    with pytest.raises(LabelsError, match="limen annotate"):
        build_report(developed, tmp_path / "page.html")
    label_all(developed, near)
    label_all(developed, near, by="simulated")
    with pytest.raises(LabelsChoiceError, match="human or simulated"):
        build_report(developed, tmp_path / "page.html")
    build_report(developed, tmp_path / "page.html", source="simulated")
    assert "<strong>Simulated.</strong>" in (tmp_path / "page.html").read_text()
