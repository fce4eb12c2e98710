"""What is asked, what is right, how an answer is read."""

import pytest
from limen.analysis.tasks import TASKS, TaskError, find_task, parse_yes_no


@pytest.mark.parametrize("answer", ["yes", "Yes", " YES.\n", "yes!"])
def test_a_direct_yes_is_1(answer):
    assert parse_yes_no(answer) == 1


@pytest.mark.parametrize("answer", ["no", "No.", "NO "])
def test_a_direct_no_is_0(answer):
    assert parse_yes_no(answer) == 0


@pytest.mark.parametrize("answer", ["", "1", "yes and no", "No person is visible.", "yesterday"])
def test_anything_else_is_no_answer(answer):
    assert parse_yes_no(answer) is None


def test_presence_is_right_when_it_says_whether_a_target_is_there():
    assert TASKS["presence"].truth({"target_present": True}) == 1
    assert TASKS["presence"].truth({"target_present": False}) == 0


def test_an_unknown_task_is_named_with_the_nearest_one():
    with pytest.raises(TaskError, match="no task 'presense'; did you mean 'presence'"):
        find_task("presense")
