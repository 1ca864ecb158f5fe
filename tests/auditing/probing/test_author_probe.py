"""The probe for authors: all of what states tell, nothing of what they do not."""

import numpy as np
import pytest
import torch

from leakscope.auditing.probing.author_probe import probe_authors
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.models.word.networks import make_network
from leakscope.models.word.word_model import WordModel
from leakscope.records.errors import LeakscopeError
from private_training import TINY


class States:
    """A model that leaves documents in states that tell their users, as far as `signal` goes."""

    needs_text = False

    def __init__(self, signal):
        self.signal = signal

    def hidden_states(self, documents):
        noise = np.random.default_rng(len(documents)).normal(size=(len(documents), 12))
        return (noise + self.signal * np.eye(12)[documents.users % 12]).astype(np.float32)


@pytest.fixture
def corpus(tmp_path):
    rows = [Row(f"u{i % 6}", f"w{i % 6} w{i % 11}") for i in range(600)]
    return build_rows(rows, tmp_path / "c", settings=BuildSettings(validation=0.3))


@pytest.mark.parametrize("hidden", [0, 50])
def test_what_states_tell_is_found_and_nothing_else(corpus, hidden):
    told = probe_authors(States(8.0), corpus, hidden=hidden)
    assert told.accuracy > 0.98 and told.users == 6 and told.documents > 100
    blank = probe_authors(States(0.0), corpus, hidden=hidden)
    assert abs(blank.accuracy - 1 / 6) < 0.1 and abs(blank.chance - 1 / 6) < 0.05
    assert probe_authors(States(0.0), corpus, hidden=hidden) == blank, "the same each time"


def test_a_real_model_whose_last_word_is_the_authors(corpus):
    drawn = torch.Generator().manual_seed(0)
    network = make_network(TINY["gru"], len(corpus.lexicon.words) + 2, drawn)
    model = WordModel(network, corpus.lexicon.words).reading(corpus.lexicon)
    assert probe_authors(model, corpus).accuracy > 0.5


def test_without_held_out_documents_there_is_nothing_to_try(tmp_path):
    bare = build_rows([Row("a", "x y"), Row("b", "x z")], tmp_path / "bare",
                      settings=BuildSettings(validation=0.0))  # fmt: skip
    with pytest.raises(LeakscopeError, match="--validation"):
        probe_authors(States(1.0), bare)


def test_a_model_that_shows_no_states_is_refused(corpus):
    class Silent(States):
        def hidden_states(self, documents):
            return None

    with pytest.raises(LeakscopeError, match="does not show its states"):
        probe_authors(Silent(0.0), corpus)
