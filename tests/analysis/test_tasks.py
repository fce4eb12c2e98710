"""What is asked, word for word, and what is right."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from limen.addon.core.poses import load_poses
from limen.addon.core.study import load_study
from limen.analysis.conversation import Item, Media
from limen.analysis.evaluate import count_questions
from limen.analysis.tasks import TASKS, TaskError, discernable_truth, find_task
from limen.analysis.tasks.action import ACTIONS, order_positions

ROOT = Path(__file__).parents[2]
WALKING = {"id": "v000000000000-noon", "view_id": "v000000000000", "action": "walking"}


def rendered(task, row=WALKING):
    item = Item(row, {}, "clean", Media(Path("image.png"), ""), Path())
    (turn,) = [next(task.dialogue(item))]
    assert turn.media == (item.media,)
    return turn.text


# The published prompts are protocol data: a change is a change of the benchmark.
GOLDEN = {
    "presence": "Respond only with 1 or 0. Respond with 1 if a person is visible in the image, "
    "and 0 if not. Is there a person visible in the image?",
    "action": "Respond only with the name of the action. "
    "What action is the person performing in the image?",
    "presence:prompt=yes-no": "Is a person visible in the image? Answer yes or no.",
    "action-choice": "What action is the person performing in the image?\n"
    "A. sneak\nB. stepping over something\nC. dodging\nD. walking\n"
    "Respond only with the letter of the action: A, B, C or D.",
    "action-choice:options=6": "What action is the person performing in the image?\n"
    "A. sneak\nB. stepping over something\nC. dodging\nD. guard up\nE. walking\nF. kicking\n"
    "Respond only with the letter of the action: A, B, C, D, E or F.",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_a_prompt_is_word_for_word(name):
    assert rendered(find_task(name)) == GOLDEN[name]


def test_no_task_has_a_system_prompt():
    assert {task.prompt.system for task in TASKS.values()} == {None}


def test_prompts_of_a_file_of_ones_own_are_asked(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        '[[prompt]]\ntask = "presence"\nname = "short"\nversion = 2\nsource = "me"\n'
        'text = "Anyone?"\nsystem = "You guard a gate."\n'
    )
    task = find_task("presence:prompt=short", file)
    assert (rendered(task), task.prompt.system) == ("Anyone?", "You guard a gate.")
    assert task.prompt.about()["version"] == 2


# --- truth ---------------------------------------------------------------------------------------


def test_presence_is_right_when_it_says_whether_a_target_is_there():
    assert TASKS["presence"].truth({"target_present": True}) == 1
    assert TASKS["presence"].truth({"target_present": False}) == 0


@pytest.mark.parametrize(
    ("present", "label", "truth"),
    [
        (True, {"human_discernable": 1}, 1),
        (True, {"human_discernable": 0}, 0),
        (True, {"human_discernable": None}, None),
        (True, None, None),
        (False, None, 0),
        (False, {"human_discernable": 1}, 0),
    ],
)
def test_what_a_human_can_see_is_the_label_and_0_where_nobody_is(present, label, truth):
    assert discernable_truth({"target_present": present}, label) == truth


def test_actions_are_asked_only_where_somebody_acts():
    for name in ("action", "action-choice"):
        assert TASKS[name].asks(WALKING)
        assert TASKS[name].truth(WALKING) == "walking"
        assert not TASKS[name].asks({**WALKING, "action": None})


# --- options -------------------------------------------------------------------------------------


def rows_of(views_per_action):
    return [
        {"id": f"v{n:012x}-noon", "view_id": f"v{n:012x}", "action": action}
        for n, action in enumerate(a for a in ACTIONS for _ in range(views_per_action))
    ]


@pytest.mark.parametrize("options", [4, 5, 8])
def test_the_right_option_is_in_every_place_equally_often_for_each_action(options):
    rows = rows_of(41)
    task = replace(
        find_task(f"action-choice:options={options}"), positions=order_positions(rows, options)
    )
    places = Counter()
    for row in rows:
        offered = task.options_for(row)
        assert len(set(offered)) == options
        places[row["action"], offered.index(row["action"])] += 1
    for action in ACTIONS:
        counts = [places[action, place] for place in range(options)]
        assert max(counts) - min(counts) <= 1


def test_every_lighting_of_a_view_offers_the_same_options():
    task = TASKS["action-choice"]
    night = {**WALKING, "id": "v000000000000-night"}
    assert task.options_for(WALKING) == task.options_for(night)


def test_options_depend_on_the_view_alone_and_wrong_ones_are_drawn_evenly():
    rows = rows_of(200)
    task = TASKS["action-choice"]
    offered = Counter(option for row in rows for option in task.options_for(row))
    # 200 right ones, and of 1,400 views of other actions 3 of 7 each: 600, give or take 4 sigma.
    assert all(abs(offered[action] - 800) < 4 * (1400 * 3 / 7 * 4 / 7) ** 0.5 for action in ACTIONS)


# --- counts --------------------------------------------------------------------------------------


def test_the_paper_size_study_asks_what_was_published():
    """27,432 rows a task, 54,864 questions (published); our person-free images come on top."""
    study = load_study(ROOT / "studies" / "paper-size.toml")
    study = replace(study, sampling=replace(study.sampling, person_free=0.0))
    actions = {name: pose.action for name, pose in load_poses().items()}
    counts = count_questions(study, actions, [TASKS["presence"], TASKS["action"]])
    for of_band in counts.values():
        assert of_band["day"] == 12_192
        assert of_band["evening"] + of_band["night"] == 7_620
        assert of_band["nv"] == 7_620
        assert of_band.total() == 27_432
    assert sum(of_band.total() for of_band in counts.values()) == 54_864


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("presense", "no task 'presense'; did you mean 'presence'"),
        ("presence:promt=x", "no setting of presence 'promt'; did you mean 'prompt'"),
        ("presence:prompt=publish", "no prompt 'publish'; did you mean 'published'"),
        ("action-choice:options=3", "is '3': 4 to 8 is allowed"),
        ("action-choice:options=many", "is 'many': 4 to 8 is allowed"),
        ("presence:options=4", "no setting of presence 'options'"),
    ],
)
def test_a_wrong_task_or_setting_is_refused(spec, message):
    with pytest.raises(TaskError, match=message):
        find_task(spec)


PROMPT = "[[prompt]]\ntask='presence'\nname='published'\nversion=1\nsource='me'\n"


@pytest.mark.parametrize(
    "text",
    [
        "prompt = 1",
        "[[prompt]]\nname = 'x'",
        "[[prompt]]\ntext = 3",
        "what",
        pytest.param(f"prompt = {'[' * 9999}", id="deep"),
        f"{PROMPT}text = ' '",
        f"{PROMPT}text = 'x'\nsystem = 5",
        PROMPT.replace("'published'", "['published']") + "text = 'x'",
    ],
)
def test_a_file_that_holds_no_prompts_is_refused(tmp_path, text):
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(TaskError, match="is no file of prompts"):
        find_task("presence", tmp_path / "bad.toml")
