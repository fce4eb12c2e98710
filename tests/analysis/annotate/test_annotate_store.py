"""Every answer is kept, once: sent twice, from two tabs, by two people, undone; two databases."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from limen.analysis.annotate.answers import read_answers
from limen.analysis.annotate.database import open_store
from limen.analysis.annotate.errors import AnnotateChoiceError, AnnotateError
from limen.analysis.annotate.serve import open_round
from limen.analysis.annotate.tasks import Reply


@pytest.fixture
def round_(synthetic_dataset, store):
    return open_round(synthetic_dataset, store, options={"repeats": 0.1})


@pytest.fixture
def enter(store, round_):
    def enter(name, by="human"):
        return store.sitting(store.sign_in(round_, name, by), round_.id)

    return enter


VISIBLE, NOT_VISIBLE = Reply("visible"), Reply("not_visible")


def test_an_answer_sent_twice_is_kept_once(store, round_, enter):
    anna = enter("anna")
    token = store.state(round_, anna).trial.token
    assert store.answer(round_, anna, token, VISIBLE)[0] == "kept"
    assert store.answer(round_, anna, token, VISIBLE)[0] == "repeated"
    assert len(list(read_answers(store, round_))) == 1


def test_of_two_answers_from_two_tabs_the_first_counts(store, round_, enter):
    anna = enter("anna")
    token = store.state(round_, anna).trial.token
    store.answer(round_, anna, token, VISIBLE)
    assert store.answer(round_, anna, token, NOT_VISIBLE)[0] == "first_kept"
    assert [a.value for a in read_answers(store, round_)] == ["visible"]


def test_many_at_once_answer_one_trial_once(store, round_, enter):
    anna = enter("anna")
    token = store.state(round_, anna).trial.token
    replies = [VISIBLE, NOT_VISIBLE] * 4
    with ThreadPoolExecutor(8) as pool:
        outcomes = [o for o, _ in pool.map(lambda r: store.answer(round_, anna, token, r), replies)]
    assert outcomes.count("kept") == 1
    assert set(outcomes) == {"kept", "repeated", "first_kept"}
    assert len(list(read_answers(store, round_))) == 1


def test_one_name_signed_in_many_times_at_once_has_one_order(store, round_):
    with ThreadPoolExecutor(6) as pool:
        secrets = list(pool.map(lambda _: store.sign_in(round_, "Anna", "human"), range(6)))
    sittings = [store.sitting(secret, round_.id) for secret in secrets]
    assert len({sitting.annotator_id for sitting in sittings}) == 1
    assert {store.progress(round_, sitting).total for sitting in sittings} == {45 + 4}


def test_two_annotators_answer_at_once_and_both_finish(store, round_, enter):
    def answer_all(name):
        sitting = enter(name)
        state = store.state(round_, sitting)
        while state.trial:
            outcome, state = store.answer(round_, sitting, state.trial.token, VISIBLE)
            assert outcome == "kept"
        return state.progress.done

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(answer_all, ("anna", "berta"))) == [49, 49]
    answers = list(read_answers(store, round_))
    assert len(answers) == len({(a.annotator, a.id, a.variant, a.showing) for a in answers}) == 98


def test_an_undone_trial_comes_again_with_a_new_token_and_the_old_one_answers_nothing(
    store, round_, enter
):
    anna = enter("anna")
    first = store.state(round_, anna).trial
    _, state = store.answer(round_, anna, first.token, VISIBLE)
    outcome, state = store.undo(round_, anna, state.progress.undo)
    assert outcome == "undone"
    assert (state.trial.media_id, state.trial.variant) == (first.media_id, first.variant)
    assert state.trial.token != first.token
    assert list(read_answers(store, round_)) == []
    store.answer(round_, anna, state.trial.token, NOT_VISIBLE)
    assert store.answer(round_, anna, first.token, VISIBLE)[0] == "first_kept"
    (answer,) = read_answers(store, round_)
    assert (answer.value, answer.undone, answer.shown_count) == ("not_visible", 1, 2)


def test_undo_sent_twice_takes_back_one_answer(store, round_, enter):
    anna = enter("anna")
    for _ in range(2):
        state = store.state(round_, anna)
        last = state.trial.token
        store.answer(round_, anna, last, VISIBLE)
    assert [store.undo(round_, anna, last)[0] for _ in range(2)] == ["undone", "undone"]
    assert store.progress(round_, anna).done == 1


def test_only_the_last_answer_can_be_undone(store, round_, enter):
    anna = enter("anna")
    first = store.state(round_, anna).trial.token
    _, state = store.answer(round_, anna, first, VISIBLE)
    store.answer(round_, anna, state.trial.token, VISIBLE)
    assert store.undo(round_, anna, first)[0] == "not_last"
    assert store.progress(round_, anna).done == 2


def test_nobody_answers_or_undoes_the_trial_of_another(store, round_, enter):
    anna, berta = enter("anna"), enter("berta")
    token = store.state(round_, anna).trial.token
    assert store.answer(round_, berta, token, VISIBLE)[0] == "unknown"
    store.answer(round_, anna, token, VISIBLE)
    assert store.answer(round_, berta, token, VISIBLE)[0] == "unknown"
    assert store.undo(round_, berta, token)[0] == "unknown"
    assert store.trial(round_, berta, token) is None


def test_a_name_is_of_a_person_or_of_a_program_and_never_both(enter):
    enter("observer", by="simulated")
    with pytest.raises(AnnotateChoiceError, match="name of a simulated annotator"):
        enter("Observer", by="human")


def test_what_a_round_was_made_with_does_not_change(synthetic_dataset, store, round_):
    assert open_round(synthetic_dataset, store).settings == round_.settings
    with pytest.raises(AnnotateChoiceError, match=r"made with display_ms = None, not 500"):
        open_round(synthetic_dataset, store, options={"display_ms": 500})


def test_a_database_belongs_to_one_dataset(store, database):
    with pytest.raises(AnnotateError, match="belongs to another dataset"):
        open_store(database, "1" * 64)


def test_a_password_in_a_url_is_in_no_message():
    with pytest.raises(AnnotateError) as caught:
        open_store("postgresql://limen:geheim@127.0.0.1:9/nothing", "0" * 64)
    assert "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("url", ["mysql://a/b", "nonsense", "sqlite://"])
def test_another_kind_of_database_is_refused(url):
    with pytest.raises(AnnotateChoiceError, match="--database"):
        open_store(url, "0" * 64)


def test_breaks_are_kept_once(store, round_, enter):
    from limen.analysis.annotate.tables import PauseRow
    from sqlalchemy import select

    anna = enter("anna")
    for began in (True, True, False, False):
        store.pause(anna, began)
    with store.reading() as session:
        (pause,) = session.scalars(select(PauseRow)).all()
        assert pause.ended_at >= pause.began_at
