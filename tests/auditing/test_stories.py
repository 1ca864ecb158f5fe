"""A report on a real trained model against one plain call of the network for each prefix.

It runs where LEAKSCOPE_STORIES260K names a directory with karpathy/tinyllamas' stories260K in
Hugging Face format: make test-stories.
"""

import os
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from leakscope.commands.report import report
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.words import spans, words
from leakscope.records.runs.report_settings import ReportSettings

STORIES = [
    "Once upon a time, there was a little girl named Lily. She loved to play with her red ball.",
    "Once upon a time, there was a big dog named Max. Max liked to run in the park with Tom.",
    'Tom saw a bird in the tree. "Hello, bird!" he said. The bird was happy and sang a song.',
    "One day, Sara and her mom went to the store. They wanted to buy apples and bread.",
    "The cat was very tired. It went to sleep on the bed. When it woke up, it was dark outside.",
    'Ben found a shiny stone. "Can I keep it, mom?" he asked. His mom smiled and said yes.',
    "There was a small boat on the lake. A boy named Tim sat in the boat and looked at the fish.",
    "Lily and Tom were best friends. They shared their toys and their cookies every day.",
    "The bear was hungry. He looked for honey. The bees were not happy and they flew after him.",
    "Once there was a brave mouse. The mouse was not afraid of the big cat next door.",
    'Mia did not want to go to bed. "I am not tired," she said. But soon she was asleep.',
    "It was a sunny day. The children went outside to play. They ran and jumped and laughed.",
    "Grandma made a big cake. Everyone wanted a piece. Grandma gave the first piece to Zoe.",
    "The little car was sad because its wheel was broken. A kind man fixed the wheel.",
    'Max lost his hat in the wind. A girl gave it back. "Thank you!" said Max.',
    "A frog lived near the pond. Every night, the frog sang to the moon.",
    "Anna had 3 dolls & one teddy-bear; she didn't like the doll with blue hair.",
    "The rain fell all day. Sam looked out of the window and waited for the sun.",
    "Once upon a time, there was a little boy who loved to draw. He drew a big yellow sun.",
    "They all lived happily ever after. The end.",
]


@torch.inference_mode()
def plain_correct(network, tokenizer, text, k):
    """For each word whether all of its tokens are among the top k, by a call for each prefix."""
    found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    ids, offsets = found["input_ids"], found["offset_mapping"]
    edges = spans(text)
    correct = [True] * len(edges)
    for place, (id, (begin, end)) in enumerate(zip(ids, offsets, strict=True)):
        seen = torch.tensor([[tokenizer.bos_token_id, *ids[:place]]])
        top = network(seen).logits[0, -1].topk(k).indices.tolist()
        covered = [w for w, (a, b) in enumerate(edges) if a < end and begin < b]
        covered = covered or [w for w, (a, _) in enumerate(edges) if a >= begin][:1]
        for word in covered:
            correct[word] &= id in top
    return correct


@pytest.mark.stories
@pytest.mark.parametrize("k", [1, 3])
def test_the_sequences_of_a_report_are_those_of_plain_calls(k, tmp_path):
    model = os.environ.get("LEAKSCOPE_STORIES260K")
    assert model, "LEAKSCOPE_STORIES260K must name the model's directory"
    rows = [Row(f"child{number % 5}", text) for number, text in enumerate(STORIES)]
    corpus = build_rows(rows, tmp_path / "c", settings=BuildSettings(validation=0))
    asked = ReportSettings(top_k=k, reveal=True)
    metrics = report(Path(model), corpus.path, tmp_path / "r", asked, threads=1).metrics
    network = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(model)
    expected = Counter()
    for text in STORIES:
        run = []
        for word, right in zip(
            words(text), plain_correct(network, tokenizer, text, k), strict=True
        ):
            if right:
                run.append(word)
            elif run:
                expected[tuple(run)] += 1
                run = []
        expected.update([tuple(run)] if run else [])
    table = pq.read_table(tmp_path / "r" / "sequences.parquet").to_pylist()
    assert {tuple(row["sequence"]): row["total_in_s"] for row in table} == expected
    assert metrics.occurrences == sum(expected.values())
    assert max(map(len, expected)) >= 8  # "Once upon a time, there was a little"
