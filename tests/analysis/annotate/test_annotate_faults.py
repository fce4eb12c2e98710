"""A real server that is killed in mid-session, two annotators at once, 20,000 images."""

import random
import threading
import time

import pytest
from limen.analysis.annotate.answers import read_answers
from limen.analysis.annotate.client import Client, observe
from limen.analysis.annotate.errors import AnnotateChoiceError, AnnotateError
from limen.analysis.annotate.security import Gate
from limen.analysis.annotate.serve import open_dataset_store

pytestmark = pytest.mark.slow

ANSWERS = 40
PASSWORD = "sand and boulders"


@pytest.fixture(params=["sqlite and 20,001 images", "postgresql"])
def asked(request, tmp_path):
    """A dataset, its number of images, where its answers go."""
    if request.param == "postgresql":
        dataset = request.getfixturevalue("synthetic_dataset")
        return dataset.root, 45, request.getfixturevalue("new_postgres")
    return request.getfixturevalue("large_dataset"), 20_001, f"sqlite:///{tmp_path / 'a.sqlite'}"


def test_a_server_killed_in_mid_session_loses_no_answer_and_doubles_none(asked, serve):
    """Two annotators at once, every answer sent twice, the server killed once or twice."""
    root, images, database = asked
    kills = (0.4,) if images > 1000 else (0.2, 0.6)  # a start reads every row
    server = serve(root, "--database", database)
    acknowledged = {"anna": [], "berta": []}
    failed = []

    def annotate(name):
        try:
            client = Client(server.url, name, simulated=False, patience_s=120)
            state = client.state()
            while len(acknowledged[name]) < ANSWERS:
                trial, value = state["trial"], random.choice(("visible", "not_visible", "unsure"))
                state = client.answer(trial, {"value": value})
                assert state["outcome"] in ("kept", "repeated")  # the second after a kill
                acknowledged[name].append((trial["token"], value))
                other = "visible" if value == "unsure" else "unsure"
                assert client.answer(trial, {"value": other})["outcome"] == "first_kept"
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=annotate, args=(name,)) for name in acknowledged]
    for thread in threads:
        thread.start()
    for share in kills:
        while sum(map(len, acknowledged.values())) < 2 * ANSWERS * share and not failed:
            time.sleep(0.01)
        server.kill()
        server.start()
    for thread in threads:
        thread.join()
    assert failed == []
    server.kill()

    _, store = open_dataset_store(root, database)
    (round_,) = store.rounds()
    assert round_.items == images
    answers = list(read_answers(store, round_))
    store.close()
    for name, sent in acknowledged.items():
        kept = [a for a in answers if a.annotator == name]
        assert [a.position for a in kept] == list(range(ANSWERS))
        assert [a.value for a in kept] == [value for _, value in sent]


def test_a_simulated_observer_answers_over_the_network_and_is_marked_as_one(
    synthetic_dataset, serve, tmp_path, monkeypatch
):
    database = f"sqlite:///{tmp_path / 'a.sqlite'}"
    monkeypatch.setenv("LIMEN_ANNOTATE_PASSWORD", PASSWORD)
    server = serve(synthetic_dataset.root, "--database", database, "--host", "0.0.0.0")
    monkeypatch.delenv("LIMEN_ANNOTATE_PASSWORD")
    with pytest.raises(AnnotateChoiceError, match=r"not let 'observer' in: .* the password"):
        observe(server.url, "observer", lambda *_: 1.0)
    present = {k: row["target_present"] for k, row in synthetic_dataset.index.items()}

    def probability(media_id, variant):
        assert variant == "clean"
        return float(present[media_id])

    assert observe(server.url, "observer", probability, password=PASSWORD, limit=20) == 20
    assert observe(server.url, "observer", probability, password=PASSWORD) == 45 + 2 - 20
    _, store = open_dataset_store(synthetic_dataset.root, database)
    answers = list(read_answers(store, store.rounds()[0]))
    store.close()
    assert {a.by for a in answers} == {"simulated"}
    assert {(a.id, a.value) for a in answers} == {
        (media_id, "visible" if there else "not_visible") for media_id, there in present.items()
    }


def test_a_server_that_is_not_there_is_an_error_of_one_line():
    with pytest.raises(AnnotateError, match="does not answer"):
        Client("http://127.0.0.1:9/", "anna", patience_s=0)


def test_a_port_in_use_is_an_error_that_says_what_to_do(synthetic_dataset, serve, tmp_path):
    from limen.analysis.annotate.serve import open_round
    from limen.analysis.annotate.serve import serve as run

    database = f"sqlite:///{tmp_path / 'a.sqlite'}"
    port = int(serve(synthetic_dataset.root, "--database", database).url.split(":")[2].strip("/"))
    dataset, store = open_dataset_store(synthetic_dataset.root, database)
    with pytest.raises(AnnotateError, match=rf"port {port}: .* choose another --port"):
        run(dataset, store, open_round(dataset, store), Gate("127.0.0.1", None), port=port)
    store.close()
