"""How an answer is read. The tables are the specification: the answer, and what it says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limen.analysis.tasks.parsing import (
    read_choice,
    read_name,
    read_presence,
    read_presence_published,
)

UNPARSED, REFUSED = "unparsed", "refused"

# Answer, strict, published. None: ambiguous as published, where such answers are left out.
PRESENCE = [
    # digits
    ("1", 1, 1),
    ("0", 0, 0),
    (" 1\n", 1, 1),
    ("1.", 1, 1),
    ("0!", 0, 0),
    ("1.0", 1, None),
    ("0.00", 0, 0),
    ("'1'", 1, 1),
    ("**0**", 0, 0),
    ("`1`", 1, 1),
    ("[1]", 1, 1),
    ("１", 1, 1),
    ("1️⃣", 1, 1),
    ("2", UNPARSED, None),
    ("10", UNPARSED, None),
    ("01", UNPARSED, 1),
    ("0.5", UNPARSED, 0),
    ("50%", UNPARSED, None),
    ("1/10", UNPARSED, None),
    ("1?", UNPARSED, 1),
    # words
    ("yes", 1, 1),
    ("No.", 0, 0),
    ("TRUE", 1, 1),
    ("one", 1, None),
    ("zero", 0, None),
    ("absent", 0, 0),
    ("yesterday", UNPARSED, None),
    ("", UNPARSED, None),
    ("not 1", UNPARSED, 1),
    ("not visible", 0, 0),
    # words of other languages
    ("Ja.", 1, None),
    ("Nein, da ist niemand.", 0, None),
    ("Oui", 1, None),
    ("¡Sí!", 1, None),
    ("não", 0, None),
    ("да", 1, None),
    ("нет", 0, None),
    ("是的。", 1, None),
    ("没有", 0, None),
    ("はい、います。", 1, None),
    ("いいえ", 0, None),
    ("네", 1, None),
    ("아니요.", 0, None),
    ("نعم", 1, None),
    ("नहीं", 0, None),
    ("hayır", 0, None),
    # an answer, and more
    ("Yes, there is a person visible.", 1, 1),
    ("No. The street is empty.", 0, 0),
    ("Yes, there is no doubt.", 1, 1),
    ("1 - a person is visible", 1, 1),
    ("1 (a person)", 1, 1),
    ("1\n\nExplanation: someone stands 5 m away.", 1, 1),
    ("The image shows a dark field. A figure stands there. Yes.", 1, 1),
    ("Is there a person? Yes", 1, 1),
    # labelled
    ("Answer: 1", 1, 1),
    ("answer is 0", 0, 0),
    ("The final answer is: **No**", 0, 0),
    ("Antwort: ja", 1, None),
    ("Réponse : non", 0, None),
    ("答案：1", 1, 1),
    ("Person visible: 0", 0, 0),
    ("ASSISTANT: 1", 1, 1),
    ("I see 0 cars and 2 trees. Answer: 1", 1, None),
    ("$\\boxed{1}$", 1, 1),
    ("so \\boxed{\\text{no}}", 0, 0),
    ("<answer>1</answer>", 1, 1),
    # JSON
    ('{"answer": 1}', 1, 1),
    ('```json\n{"person_visible": false}\n```', 0, None),
    ('{"answer": "yes", "confidence": 0.93}', 1, 1),
    ('Here it is: {"result": 0}', 0, 0),
    ('{"Person Present": true}', 1, 1),
    ("[0]", 0, 0),
    ('{"answer": 2}', UNPARSED, None),
    ('{"answer": 1, "result": 0}', UNPARSED, None),
    ('{"a": 1, "b": 0}', UNPARSED, None),
    ('{"answer": 1', 1, 1),
    # reasoning
    ("<think>A shadow? 0, or 1 ...</think>\n1", 1, None),
    ("dark, maybe 0</think>1", 1, None),
    ("<think>is it 1", UNPARSED, 1),
    ("◁think▷no...◁/think▷yes", 1, 1),
    ("<think>0</think><think>1</think>0", 0, None),
    ("1<|im_end|>", 1, 1),
    # neither, or both
    ("1 or 0", UNPARSED, None),
    ("yes and no", UNPARSED, 1),
    ("No, wait, yes.", UNPARSED, 1),
    ("No. 1", UNPARSED, 1),
    ("1. Look at the image.\n2. Find people.", UNPARSED, 1),
    ("1, 2, 3", UNPARSED, 1),
    ("There are 1-2 people", UNPARSED, 1),
    ("A person is visible.", UNPARSED, None),
    ("I cannot tell.", UNPARSED, None),
    ("It is too dark to see anything", UNPARSED, None),
    # refusals
    ("I'm sorry, but I can't assist with that.", REFUSED, None),
    ("I’m sorry, I cannot identify people in images.", REFUSED, None),
    ("As an AI, I have no eyes to see with", REFUSED, 0),
    ("I am unable to view images.", REFUSED, None),
    ("Es tut mir leid, das geht nicht.", REFUSED, None),
    ("抱歉，我无法回答", REFUSED, None),
    ("I'm sorry, it was dark. Answer: 0", 0, 0),
]


@pytest.mark.parametrize(("answer", "strict", "published"), PRESENCE)
def test_presence_is_read_strictly(answer, strict, published):
    reading = read_presence(answer)
    if isinstance(strict, str):
        assert (reading.outcome, reading.prediction) == (strict, None)
    else:
        assert (reading.outcome, reading.prediction) == ("ok", strict)


@pytest.mark.parametrize(("answer", "strict", "published"), PRESENCE)
def test_presence_is_read_as_published(answer, strict, published):
    reading = read_presence_published(answer)
    assert reading.prediction == published
    assert reading.outcome == ("unparsed" if published is None else "ok")


OPTIONS = ("kicking", "guard up", "sneak", "walking")

CHOICES = [
    ("A", "kicking"),
    ("(b)", "guard up"),
    ("C.", "sneak"),
    ("D) walking", "walking"),
    ("B: guard up", "guard up"),
    ("b guard_up", "guard up"),
    ("**D**", "walking"),
    ("Answer: A", "kicking"),
    ("The correct answer is B.", "guard up"),
    ("option c", "sneak"),
    ("kicking", "kicking"),
    ("Guard_up.", "guard up"),
    ("The person is kicking.", "kicking"),
    ("A person is walking.", "walking"),
    ('{"answer": "B"}', "guard up"),
    ("\\boxed{D}", "walking"),
    ("<think>A or B</think>C", "sneak"),
    ("A. walking", UNPARSED),
    ("A or B", UNPARSED),
    ("E", UNPARSED),
    ("1", UNPARSED),
    ("A person", UNPARSED),
    ("", UNPARSED),
    ("I'm sorry, I can't help with that.", REFUSED),
]


@pytest.mark.parametrize(("answer", "says"), CHOICES)
def test_a_choice_is_read_by_its_letter_or_its_text(answer, says):
    reading = read_choice(answer, OPTIONS)
    if says in OPTIONS:
        assert (reading.outcome, reading.prediction) == ("ok", says)
        assert reading.details["letter"] == "ABCD"[OPTIONS.index(says)]
    else:
        assert (reading.outcome, reading.prediction) == (says, None)


NAMES = [
    ("Kicking.", "Kicking"),
    ("**Choking**", "Choking"),
    ("Action: guard up", "guard up"),
    ('{"action": "walking"}', "walking"),
    ("<think>legs apart</think>\n sneaking", "sneaking"),
    ("The person is\nwalking.", "The person is walking"),
    ("", UNPARSED),
    ("...", UNPARSED),
    ("<think>hmm", UNPARSED),
    ("I can't help with that.", REFUSED),
]


@pytest.mark.parametrize(("answer", "says"), NAMES)
def test_a_name_is_read_in_the_models_own_words(answer, says):
    reading = read_name(answer)
    if says in (UNPARSED, REFUSED):
        assert (reading.outcome, reading.prediction) == (says, None)
    else:
        assert (reading.outcome, reading.prediction) == ("ok", says)


@given(st.text())
def test_any_text_at_all_is_read_as_something(text):
    for reading in (
        read_presence(text),
        read_presence_published(text),
        read_choice(text, OPTIONS),
        read_name(text),
    ):
        assert (reading.prediction is None) == (reading.outcome != "ok")
