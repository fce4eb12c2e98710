"""Datasets of rows without rendering, and runs of made-up models, as the contract has them."""

import copy
import hashlib
import json
import math
from pathlib import Path

import numpy as np
from limen.addon.core.dataset import Dataset, PartWriter, append_table, init_dataset, open_dataset
from limen.addon.core.poses import load_poses

LUX = {"day": 20000.0, "evening": 10.0, "night": 0.2}


def make_dataset(
    root: Path,
    template: Dataset,
    *,
    densities=(187.5, 93.75, 43.75),
    lightings=(("noon", "day", 20000.0), ("dusk", "evening", 10.0), ("midnight", "night", 0.2)),
    views=96,
    blanks=24,
    subjects=4,
    azimuths=(0.0, 90.0, 180.0, 270.0),
    elevations=(0.0, 45.0),
    seed=0,
) -> Dataset:
    """A dataset whose rows vary as asked and whose images are those of the template."""
    rng = np.random.default_rng(seed)
    init_dataset(root, (template.root / "study.toml").read_text())
    for name in ("media", "masks"):
        if not (root / name).exists():
            (root / name).symlink_to(template.root / name)
    person = [v for v in template.views.values() if v["target_present"]]
    nobody = [v for v in template.views.values() if not v["target_present"]]
    poses = [(pose.action, name) for name, pose in load_poses().items()]
    images = {v: row["media"] for v, row in ((r["view_id"], r) for r in template.index.values())}
    with PartWriter(root, "made") as writer:
        for number in range(views + blanks):
            present = number < views
            base = copy.deepcopy(
                (person if present else nobody)[number % len(person if present else nobody)]
            )
            density = densities[number % len(densities)]
            action, pose = poses[int(rng.integers(len(poses)))]
            distance = round(1008 / density, 4)
            view_id = f"v{number:012x}"
            image = images[base["view_id"]]
            own = {
                "distance_m": distance,
                "azimuth_deg": float(rng.choice(azimuths)),
                "elevation_deg": float(rng.choice(elevations)),
                "scenery": ("desert", "field")[number // len(densities) % 2],
                "action": action if present else None,
                "pose": pose if present else None,
                "subject": f"person{int(rng.integers(subjects))}" if present else None,
            }
            base["factors"].update(own, texture="blue" if present else None)
            base.update(
                view_id=view_id, density_nominal_px_per_m=density, density_measured_px_per_m=density
            )
            base["camera"]["label"] = f"cam{number % 8:03d}"
            index = [
                {
                    "id": f"{view_id}-{name}",
                    "view_id": view_id,
                    "lighting": name,
                    "band": band,
                    "target_present": present,
                    **{key: own[key] for key in own},
                    "illuminance_nominal_lx": lux,
                    "illuminance_measured_lx": lux,
                    "exposure_s": 0.01,
                    "media": image,
                }
                for name, band, lux in lightings
            ]
            writer.write(base, index)
    return open_dataset(root)


def chance_of_yes(row, view, *, px=30.0, lux=0.5, slope=8.0, guess=0.03, lapse=0.03) -> float:
    """A model that needs both pixels and light."""
    if not row["target_present"]:
        return guess
    seen = 1.0
    for have, needed in (
        (view["density_nominal_px_per_m"], px),
        (row["illuminance_nominal_lx"], lux),
    ):
        seen *= 1 / (1 + math.exp(-slope * (math.log10(have / needed))))
    return guess + (1 - guess - lapse) * seen


def write_run(
    dataset: Dataset,
    label: str,
    answer,
    *,
    task="presence",
    variants=("clean",),
    known=None,
    name=None,
    seed=0,
    only=lambda row: True,
) -> Path:
    """A run of (row, view, variant, rng) -> (outcome, prediction, text)."""
    directory = dataset.root / "runs" / f"{label}__{task.replace(':', '-')}__{'-'.join(variants)}"
    directory.mkdir(parents=True)
    rng = np.random.default_rng([seed, int(hashlib.sha256(label.encode()).hexdigest()[:8], 16)])
    rows = []
    for row in dataset.index.values():
        for variant in variants:
            if not only(row):
                continue
            outcome, prediction, text = answer(row, dataset.views[row["view_id"]], variant, rng)
            image = row["media"].get(variant) or row["media"]["clean"]
            rows.append(
                {
                    "id": row["id"],
                    "variant": variant,
                    "outcome": outcome,
                    "prediction": prediction,
                    "answer": text,
                    "score": None,
                    "media_sha256": image["sha256"],
                    "latency_s": 0.05,
                }
            )
    about = {
        "run": directory.name,
        "label": label,
        "model": {"name": name or label, "settings": {}},
        "task": task,
        "question": "Is there a person visible in the image?",
        "prompt": {
            "name": "published",
            "version": 1,
            "text": "Is there a person visible?",
            "system": None,
        },
        "variant": variants[0] if len(variants) == 1 else "published",
        "parser": "strict",
        "note": "",
        "known": known,
        "sessions": [
            {
                "started": "2026-11-30T01:00:00+00:00",
                "seconds": 12.5,
                "items": len(rows),
                "latency_ms": {"median": 50, "p95": 60, "max": 70},
                "dataset_sha256": "0" * 64,
                "engine": "local",
                "runtime": {},
                "versions": {"limen": "0.1.0"},
            }
        ],
    }
    (directory / "run.json").write_text(json.dumps(about))
    append_table(directory / "predictions.jsonl", rows)
    return directory


def sees(**needs):
    """A model that says 1 or 0 with :func:`chance_of_yes`."""

    def answer(row, view, variant, rng):
        own = {**needs, "lux": needs.get("lux", 0.5) / (50 if variant == "nv" else 1)}
        yes = int(rng.random() < chance_of_yes(row, view, **own))
        return "ok", yes, str(yes)

    return answer


def write_labels(
    dataset: Dataset, *, by="human", variants=("clean",), seed=1, share=1.0, **needs
) -> None:
    """Labels of what somebody with these needs sees."""
    rng = np.random.default_rng(seed)
    rows = []
    for row in dataset.index.values():
        for variant in variants:
            if rng.random() < share:
                _, seen, _ = sees(guess=0.0, lapse=0.0, **needs)(
                    row, dataset.views[row["view_id"]], variant, rng
                )
                rows.append(
                    {
                        "id": row["id"],
                        "variant": variant,
                        "human_discernable": seen,
                        "probability": None,
                        "by": by,
                    }
                )
    append_table(dataset.root / "labels" / f"{by}.jsonl", rows)
