"""Compiled draws against hashlib, and against the definition of the split."""

import hashlib

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from leakscope.corpus.building.draw_kernels import hash_of
from leakscope.corpus.building.number_stage import held_out
from leakscope.corpus.split import in_validation
from plain_build import as_array


@given(st.binary(max_size=400))
@example(b"")
@example(b"x" * 128)
@example(b"x" * 129)
@example(b"x" * 256)
def test_the_hash_is_that_of_hashlib(data):
    digest = hashlib.blake2b(data, digest_size=8).digest()
    assert int(hash_of(np.frombuffer(data, np.uint8), len(data))) == int.from_bytes(digest, "big")


@given(
    st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 10**12))),
    st.sampled_from([0.0, 1e-9, 0.1, 0.5, 1 - 2**-53]),
    st.integers(-5, 10**30),
    st.sampled_from(["document", "user"]),
)
@example([("x" * 300, 0), ("x" * 300, 10**9)], 0.5, 0, "document")
def test_documents_are_held_out_as_the_split_says(documents, fraction, seed, by):
    users = as_array([user for user, _ in documents])
    indices = np.array([index if by == "document" else -1 for _, index in documents], np.int64)
    found = held_out(fraction, seed, users, indices).tolist()
    assert found == [in_validation(fraction, by, seed, user, index) for user, index in documents]
