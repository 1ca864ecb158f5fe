"""Saved datasets and Arrow files of strangers: nothing outside is read, and nothing is run."""

import base64
import json
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leakscope.corpus.readers.detect import read
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import Row
from leakscope.records.errors import LeakscopeError


@pytest.fixture
def dataset(tmp_path):
    outside = tmp_path / "secret.arrow"
    table = pa.table({"user": ["ann"], "text": ["secret"]})
    with pa.ipc.new_stream(outside, table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "saved").mkdir()
    return tmp_path / "saved"


@pytest.mark.parametrize("name", ["../secret.arrow", "{outside}/secret.arrow", "link.arrow"])
def test_a_dataset_does_not_name_files_outside_of_it(dataset, name):
    (dataset / "link.arrow").symlink_to(dataset.parent / "secret.arrow")
    name = name.format(outside=dataset.parent)
    (dataset / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
    with pytest.raises(LeakscopeError, match="names a part that is not in it"):
        list(read(dataset, InputSettings(format="arrow")))


@pytest.mark.parametrize("split", [".", "..", "a/../.", "/"])
def test_a_split_is_a_folder_of_its_own(dataset, split):
    (dataset / "a").mkdir()
    (dataset / "dataset_dict.json").write_text(json.dumps({"splits": [split]}))
    with pytest.raises(LeakscopeError, match="names a part that is not in it"):
        list(read(dataset, InputSettings(format="arrow")))


class Evil:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (open, (self.marker, "w"))


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_a_pickled_type_is_not_unpickled(tmp_path, kind):
    marker = tmp_path / "it-was-run"
    field = pa.field(
        "text",
        pa.string(),
        metadata={
            "ARROW:extension:name": "arrow.py_extension_type",
            "ARROW:extension:metadata": pickle.dumps(Evil(str(marker)), protocol=0),
        },
    )
    table = pa.table([["ann"], ["hi"]], schema=pa.schema([pa.field("user", pa.string()), field]))
    path = tmp_path / f"data.{kind}"
    if kind == "parquet":
        stored = base64.b64encode(table.schema.serialize().to_pybytes())
        pq.write_table(table.replace_schema_metadata({"ARROW:schema": stored}), path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    assert list(read(path, InputSettings())) == [Row("ann", "hi")]
    assert not marker.exists()
