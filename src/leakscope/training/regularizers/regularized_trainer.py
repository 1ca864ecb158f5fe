"""A regularizer in a Hugging Face `Trainer` of one's own."""

from typing import Any

import torch
from torch import Tensor

from leakscope.records.errors import LeakscopeError
from leakscope.training.regularizers.author_term import AuthorTerm
from leakscope.training.regularizers.privacy_weight import weight_at


class RegularizedTrainer:
    """Adds a privacy loss to the `transformers.Trainer` that stands behind it:

        class PrivateTrainer(RegularizedTrainer, Trainer): ...

        term = TripletTerm(TripletSettings(privacy_weight=1.0))
        PrivateTrainer(model, arguments, train_dataset=data, author_term=term).train()

    Every example has a number `author`, from 0 on. The state that stands for a text is that of its
    last token in the last layer. Evaluation is as ever. What the term measures is logged as
    `privacy/...`. A checkpoint of the Trainer does not hold what the term has learned.
    """

    args: Any
    state: Any

    def __init__(
        self, *args: Any, author_term: AuthorTerm, author_column: str = "author", **kwargs: Any
    ) -> None:
        """`args` and `kwargs` are the Trainer's own."""
        super().__init__(*args, **kwargs)
        self.author_term, self.author_column = author_term, author_column
        if self.args.remove_unused_columns:
            raise LeakscopeError(
                f"The Trainer would drop the column {author_column}; set "
                "remove_unused_columns=False in its arguments."
            )
        if self.args.world_size > 1 or self.args.n_gpu > 1:
            raise LeakscopeError(
                "A regularizer needs all texts of a step in one process; train on one device."
            )

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """See `Trainer.compute_loss`; in training, with the privacy loss added."""
        theirs: Any = super()
        given = {name: value for name, value in inputs.items() if name != self.author_column}
        if not model.training:
            return theirs.compute_loss(model, given, return_outputs, num_items_in_batch)
        if self.author_column not in inputs:
            raise LeakscopeError(
                f"The batches have no {self.author_column}; give every example the number of its "
                "author, and let the data collator keep it."
            )
        loss, outputs = theirs.compute_loss(
            model, given | {"output_hidden_states": True}, True, num_items_in_batch
        )
        states = last_states(outputs.hidden_states[-1], given.get("attention_mask"))
        authors = inputs[self.author_column].to(states.device)
        term = self.author_term
        weight = weight_at(self.state.epoch or 0.0, term.privacy_weight, term.privacy_warmup)
        added = weight * term.loss(states, authors) / self._steps_that_share(num_items_in_batch)
        loss = loss + added.to(loss.dtype)
        return (loss, outputs) if return_outputs else loss

    def _steps_that_share(self, items: Any) -> int:
        """By how much the privacy loss is to be divided here: where the loss of the words counts
        over all steps that accumulate gradients, the Trainer divides no more.
        """
        found: Any = self
        scaled = getattr(found, "loss_is_scaled_for_ga", None)
        if scaled is None:
            accepted = found.model_accepts_loss_kwargs and items is not None
            scaled = accepted or found.compute_loss_func is not None
        usual = self.args.gradient_accumulation_steps  # the last of an epoch may be fewer
        return int(getattr(found, "current_gradient_accumulation_steps", usual)) if scaled else 1

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """See `Trainer.log`; with the term's means since the last log of a training loss."""
        if "loss" in logs:
            found = self.author_term.figures()
            known = {f"privacy/{name}": v for name, v in found.items() if v is not None}
            logs = logs | known
            self.author_term.restart()
        theirs: Any = super()
        theirs.log(logs, *args, **kwargs)


def last_states(states: Tensor, mask: Tensor | None) -> Tensor:
    """[n, h] of states [n, t, h], each text's last that `mask` [n, t] calls text; without a mask,
    the last.
    """
    if mask is None:
        return states[:, -1]
    places = torch.arange(mask.shape[1], device=mask.device)
    ends = torch.where(mask > 0, places, -1).amax(1)
    return states[torch.arange(len(states), device=states.device), ends]
