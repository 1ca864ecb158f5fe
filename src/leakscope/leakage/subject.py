"""The model under audit, as the report needs to know it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from leakscope.leakage.chance.stand_ins import StandIns
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.models.interface import LanguageModel
from leakscope.models.wrappers.hardened import HardenedModel
from leakscope.records.documents import IntArray
from leakscope.records.models.audited_model import AuditedModel
from leakscope.records.models.model_config import ModelConfig
from leakscope.records.models.model_figures import ModelFigures
from leakscope.records.runs.gate_verdict import GateVerdict
from leakscope.records.runs.run_manifest import RunManifest
from leakscope.records.runs.run_metrics import Metrics


def behind(load: Callable[[], LanguageModel], confidence: float | None) -> LanguageModel:
    """The model as the attacker meets it; in any process."""
    model = load()
    return model if confidence is None else HardenedModel(model, confidence)


@dataclass(frozen=True)
class Subject:
    """A model, how to load it, and what is known of it already."""

    name: str
    digest: str
    config: AuditedModel
    load: Callable[[], LanguageModel]
    """Brings the model, reading the corpus's lexicon; called once in every worker."""
    identity: AnswerIdentity
    """All that decides its answers."""
    figures: ModelFigures = field(default_factory=ModelFigures)
    """Perplexities and accuracies known already, or why they are not."""
    options: dict[str, Any] = field(default_factory=dict)
    """The options of the command as they were given, for the manifest."""
    users: IntArray | None = None
    """The numbers of the users whose documents are audited, rising; None: all users'."""
    stand_ins: StandIns | None = None
    """Models that chance is measured on; None: on held-out documents."""
    measured: bool = True
    """Whether `figures` has what can be known of the validation words; if not, it is measured."""
    verdicts: Callable[[Metrics, RunManifest], tuple[GateVerdict, ...]] = lambda *_: ()
    """What gates say of the figures, to be written with them."""
    confirm: Callable[[], None] = lambda: None
    """Called before anything is written: raises if the model is no longer the one that gave the
    answers."""

    def interface(self, confidence: float | None) -> Callable[[], LanguageModel]:
        """Brings the model as the attacker meets it."""
        return partial(behind, self.load, confidence)

    @property
    def reads_text(self) -> bool:
        """Whether documents must carry their texts; known before the model is loaded."""
        return not isinstance(self.config, ModelConfig)
