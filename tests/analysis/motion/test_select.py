"""Selection from BABEL: the planted poses are found, reasons kept, nothing asked twice."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from limen.addon.core.poses import load_poses
from limen.analysis.cli import app
from limen.analysis.motion.babel import MotionIndex, read_babel
from limen.analysis.motion.clip import MotionError
from limen.analysis.motion.judge import DEFAULT_PROMPT, parse_score, read_prompt
from limen.analysis.motion.select import read_actions, select_poses
from motions import label, standing, write_amass, write_babel
from typer.testing import CliRunner

ACTIONS = """\
[[action]]
name = "crouching"
description = "a person crouches down low"
poses = 3

[[action]]
name = "kicking"
title = "Kicking"
description = "a person kicks with the leg"
poses = 2
on_ground = false
"""
PLANTED = {"crouching": ("crouch", "squat", "duck"), "kicking": ("kick", "karate")}
DISTRACTORS = ("walk", "wave hand", "sit", "drink water", "sing", "turn around", "stand still")


def motion(bend_deg: float, joint: int, at: int) -> np.ndarray:
    """Sixty frames of standing with a bend in one of them."""
    poses = standing(60)
    poses[at, joint, 0] = np.radians(bend_deg)
    return poses


@pytest.fixture
def material(tmp_path):
    """A BABEL of 200 segments in 40 motions, eight of which show what is wanted."""
    sequences = {}
    planted = set()
    for number in range(40):
        name = f"CMU/CMU/{number // 10:02d}/{number // 10:02d}_{number:02d}_poses.npz"
        labels = [
            label(f"{DISTRACTORS[(number + k) % 7]} {number} {k}", k * 0.4, k * 0.4 + 0.4)
            for k in range(5)
        ]
        poses = standing(60)
        if number < 4:
            labels[2] = label(f"{PLANTED['crouching'][number % 3]} low {number}", 0.8, 1.2)
            poses = motion(60 + 15 * number, 4, 29)
            planted.add(("crouching", name))
        elif number < 8:
            labels[2] = label(f"{PLANTED['kicking'][number % 2]} high {number}", 0.8, 1.2)
            poses = motion(-60 - 15 * number, 1, 31)
            planted.add(("kicking", name))
        sequence = {"babel_sid": number, "feat_p": name, "dur": 2.0, "seq_ann": None}
        sequence["frame_ann"] = {"labels": labels}
        sequences[str(number)] = sequence
        amass = name.replace("CMU/CMU", "CMU").replace("_poses", "_stageii")
        write_amass(tmp_path / "amass" / amass, poses)
    write_babel(tmp_path / "babel/train.json", sequences)
    (tmp_path / "actions.toml").write_text(ACTIONS)
    return tmp_path, planted


def embed(texts):
    """Counts of the planted words: what an embedder that knows them would see."""
    words = {"crouches": "crouch", "kicks": "kick", "squat": "crouch", "duck": "crouch"}
    words |= {"karate": "kick", "crouch": "crouch", "kick": "kick"}
    axes = ["crouch", "kick"]
    vectors = np.full((len(texts), 3), 0.01)
    for row, text in enumerate(texts):
        for word in text.split():
            if word in words:
                vectors[row, axes.index(words[word])] = 1
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def knowing(prompt: str) -> str:
    text, _, rest = prompt.partition("How surely")
    action = "kicking" if "Kicking" in rest else "crouching"
    return "9" if any(word in text for word in PLANTED[action]) else "2"


def select(material, judge=knowing, **options):
    root, _ = material
    return select_poses(
        read_babel(root / "babel"),
        MotionIndex(root / "amass"),
        read_actions(root / "actions.toml"),
        embed,
        judge,
        "test",
        read_prompt(DEFAULT_PROMPT),
        root / "out",
        **{"shortlisted": 20, "apart_deg": 0.1, **options},
    )


def test_the_planted_segments_are_picked_at_their_peak_and_nothing_else(material):
    root, planted = material
    found = select(material)
    taken = [row for row in found.rows if row["why"] == "taken"]
    assert {(row["action"], row["motion"]) for row in taken} <= planted
    assert Counter(row["action"] for row in taken) == {"crouching": 3, "kicking": 2}
    assert {row["frame"] for row in taken if row["action"] == "crouching"} == {29}
    library = load_poses(root / "out")
    assert {pose.action for pose in library.values()} == {"crouching", "kicking"}
    pose = library["kicking_01"]
    assert "BABEL" in pose.source
    assert "score 9 of 10" in pose.source
    assert pose.licence == "LicenseRef-AMASS"
    assert np.degrees(pose.axis_angle_rad[1, 0]) < -60


def test_every_shortlisted_segment_has_its_reason(material):
    found = select(material)
    reasons = Counter(row["why"] for row in found.rows if row["action"] == "crouching")
    assert reasons["taken"] == 3
    assert reasons["enough poses"] == 1
    assert reasons["below the threshold"] == len(found.rows) // 2 - 4


def test_poses_that_look_alike_are_taken_once(material):
    found = select(material, apart_deg=30.0)
    assert [len(found.poses[name]) for name in ("crouching", "kicking")] == [1, 1]


def test_a_judge_that_talks_gives_no_score_and_is_asked_once_more(material):
    asked = Counter()

    def chatty(prompt: str) -> str:
        asked[prompt] += 1
        return "I would say that this is certainly a 9!"

    found = select(material, chatty, shortlisted=2)
    assert set(asked.values()) == {2}
    assert {row["why"] for row in found.rows} == {"no score"}


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("7", 7), (" 10 \n", 10), ("0.", 0), ('{"score": 3}', 3), ('```json\n{"score": 3}\n```', 3),
        ("11", None), ("-1", None), ("7/10", None), ("seven", None), ("", None), ("7 8", None),
        ('{"score": "3"}', None), ('{"score": 11}', None), ('{"score": true}', None),
        ("[3]", None), ("{" * 5000, None), ('Score: {"score": 3}', None),
    ],
)  # fmt: skip
def test_replies_are_read_strictly(reply, score):
    assert parse_score(reply) == score


def test_babel_is_read_with_null_categories_plural_keys_and_whole_sequences(tmp_path):
    whole = {"labels": [label("walk", act_cat=None)]}
    stretch = {"labels": [label("kick", 1, 2), label("transition", 2, 3)]}
    write_babel(
        tmp_path / "train.json",
        {"7": {"feat_p": "a/b_poses.npz", "dur": 5.0, "seq_ann": whole, "frame_ann": None}},
    )
    write_babel(
        tmp_path / "extra_train.json",
        {"9": {"feat_p": "a/c_poses.npz", "dur": 5.0, "seq_anns": None, "frame_anns": [stretch]}},
    )
    first, second = read_babel(tmp_path)
    assert (first.text, first.categories, first.start_s, first.end_s) == ("walk", (), 0.0, 5.0)
    assert (second.text, second.categories, second.start_s, second.end_s) == (
        "kick", ("kick",), 1.0, 2.0,
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "[1]", '{"1": 3}', '{"1": {"feat_p": "a"}}', "{" * 9000])
def test_a_file_that_is_not_babel_is_named(tmp_path, text):
    (tmp_path / "train.json").write_text(text)
    with pytest.raises(MotionError, match=r"train\.json"):
        read_babel(tmp_path)


def test_motions_that_are_not_here_are_counted_and_none_at_all_is_an_error(material):
    root, _ = material
    victim = next((root / "amass").rglob("*_00_stageii.npz"))
    victim.unlink()
    assert select(material).missing == ("CMU/CMU/00/00_00_poses.npz",)
    for path in (root / "amass").rglob("*.npz"):
        path.unlink()
    with pytest.raises(MotionError, match="none of the 40 motions"):
        select(material)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "[[action]]"),
        ('[[action]]\nname = "Falling"\ndescription = "x"', "needed is an id"),
        ('[[action]]\nname = "a"', "say what it looks like"),
        ('[[action]]\nname = "a"\ndescription = "x"\npose = 3', "has the key pose"),
        ('[[action]]\nname = "a"\ndescription = "x"\nposes = 0', "1 to 1000"),
        ('[[action]]\nname = "a"\ndescription = "x"\nrule = "best"', "peak, middle"),
    ],
)
def test_a_fault_in_the_actions_file_is_said(tmp_path, text, said):
    (tmp_path / "actions.toml").write_text(text)
    with pytest.raises(MotionError) as error:
        read_actions(tmp_path / "actions.toml")
    assert said in str(error.value)


def test_a_prompt_without_its_fields_is_refused(tmp_path):
    (tmp_path / "prompt.txt").write_text("Is {text} a fall?")
    with pytest.raises(MotionError, match=r"lacks \{action\}, \{description\}"):
        read_prompt(tmp_path / "prompt.txt")


# --- the command, with a server ------------------------------------------------------------------


@pytest.fixture
def server():
    """An OpenAI-compatible server that knows the planted words and counts what it is asked."""
    asked: list[str] = []
    reached = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body["messages"][0]["content"])
            if len(asked) == 12:
                reached.set()
            message = {"role": "assistant", "content": knowing(asked[-1])}
            reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
            reply["choices"] = [{"index": 0, "message": message, "finish_reason": "stop"}]
            data = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}/v1", asked, reached
    http.shutdown()
    http.server_close()


@pytest.mark.slow
def test_the_command_killed_in_the_middle_goes_on_without_asking_twice(material, server):
    root, planted = material
    url, asked, reached = server
    arguments = ["poses", "select", "--judge", "openai:m", "--base-url", url, "--shortlist", "15"]
    for name in ("babel", "amass", "actions.toml", "out"):
        arguments += [f"--{name.removesuffix('.toml')}", str(root / name)]
    command = [sys.executable, "-m", "limen.analysis.cli", *arguments]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    first = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    assert reached.wait(120)
    first.send_signal(signal.SIGKILL)
    first.wait()

    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    # Only what was in flight when it was killed may be asked again.
    assert sum(count > 1 for count in Counter(asked).values()) <= 1
    rows = [json.loads(line) for line in (root / "out/selection.jsonl").read_text().splitlines()]
    taken = {(row["action"], row["motion"]) for row in rows if row["why"] == "taken"}
    assert taken
    assert taken <= planted
    before = len(asked)
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert len(asked) == before
