"""Settings become options of the command line, so importing them must cost next to nothing."""

import subprocess
import sys
from dataclasses import fields
from inspect import getsource

import pytest

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.synthetic.synth_settings import SynthSettings

SETTINGS = [BuildSettings, CleanSettings, InputSettings, SynthSettings]


def test_no_heavy_library_comes_along():
    names = ", ".join(cls.__module__ for cls in SETTINGS)
    heavy = "{'torch', 'numpy', 'pyarrow', 'pydantic', 'phonenumbers', 'stdnum'}"
    code = f"import sys, {names}\nassert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("cls", SETTINGS)
def test_every_field_has_a_sentence_of_help(cls):
    lines = [line.strip() for line in getsource(cls).splitlines()]
    for field in fields(cls):
        at = next(i for i, line in enumerate(lines) if line.startswith(f"{field.name}: "))
        assert lines[at + 1].startswith('"""') and lines[at + 1].endswith('."""'), field.name
