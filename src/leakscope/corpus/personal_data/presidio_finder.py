"""What presidio finds, as an extra to our own patterns (`pip install 'leakscope[presidio]'`).

Without a spaCy pipeline only its pattern recognizers work; names and places need one that is
installed. Nothing is downloaded.
"""

import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from leakscope.corpus.personal_data.kinds import Finding
from leakscope.records.errors import LeakscopeError

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine

MIN_SCORE = 0.4
"""Patterns with less certainty (any nine digits, say) do not count."""
_KINDS = {
    "CREDIT_CARD": "card",
    "IBAN_CODE": "account",
    "IP_ADDRESS": "ip",
    "PHONE_NUMBER": "phone",
    "US_BANK_NUMBER": "account",
}
# They would fetch the list of public suffixes from the network; our own patterns find these.
_LEFT_OUT = ("EmailRecognizer", "UrlRecognizer")


def presidio_finder(model: str | None = None) -> Callable[[str], list[Finding]]:
    """A function that gives presidio's findings in a text, by our kinds or presidio's own.

    `model` names an installed spaCy pipeline, or the folder of one.
    """
    engine, language = _engine(model)

    def find(text: str) -> list[Finding]:
        results = engine.analyze(text=text, language=language, score_threshold=MIN_SCORE)
        return [
            Finding(result.start, result.end, _KINDS.get(kind := result.entity_type, kind.lower()))
            for result in results
        ]

    return find


def _engine(model: str | None) -> "tuple[AnalyzerEngine, str]":
    try:
        from presidio_analyzer import AnalyzerEngine, RecognizerRegistry  # an extra
        from presidio_analyzer.nlp_engine import SpacyNlpEngine
    except ImportError:
        raise LeakscopeError(
            "presidio is not installed; get it by pip install 'leakscope[presidio]'."
        ) from None

    # It logs which recognizers it leaves out, which nobody asked for.
    logging.getLogger("presidio-analyzer").setLevel(logging.ERROR)
    pipeline: Any = _patterns_only() if model is None else _installed(model)
    pipeline.max_length = sys.maxsize  # the corpus has a limit of its own
    language = pipeline.lang
    nlp = SpacyNlpEngine(models=[{"lang_code": language, "model_name": model or "blank"}])
    nlp.nlp = {language: pipeline}  # as it is: its own `load` would download what is missing
    registry = RecognizerRegistry(supported_languages=[language])
    registry.load_predefined_recognizers(languages=[language], nlp_engine=nlp)
    for name in _LEFT_OUT:
        registry.remove_recognizer(name)
    engine = AnalyzerEngine(registry=registry, nlp_engine=nlp, supported_languages=[language])
    return engine, language


def _patterns_only() -> Any:
    """English words, with the little that presidio needs to see a pattern's context words."""
    import spacy  # an extra

    def lower_case_lemmas(words: Any) -> Any:
        for word in words:
            word.lemma_ = word.lower_
        return words

    spacy.Language.component("lower_case_lemmas", func=lower_case_lemmas)
    pipeline = spacy.blank("en")
    pipeline.add_pipe("lower_case_lemmas")
    return pipeline


def _installed(model: str) -> Any:
    import spacy  # an extra

    try:
        return spacy.load(model)
    except OSError:
        raise LeakscopeError(
            f"{model} is not an installed spaCy pipeline; install it, or leave out its name to "
            "use presidio's patterns only."
        ) from None
