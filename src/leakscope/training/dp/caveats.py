"""What a guarantee of differential privacy does not cover, in sentences for model and report."""

from leakscope.records.models.dp_record import doubts_about
from leakscope.training.dp.protected_unit import Unit

FLOATING_POINT = (
    "Noise is added in floating-point arithmetic, which is not protected against attacks on its "
    "rounding."
)
TUNING = (
    "Trying out settings on the private text, and choosing among snapshots by it, is not counted."
)
DIGESTS = (
    "The model's config has digests of the private text; who can guess the whole text can check it "
    "by them."
)
COUNT = "The number of {unit}s is treated as public."
FIGURES = (
    "Figures measured on private text without noise, such as validation perplexities and reports, "
    "are not covered."
)
DOCUMENTS = (
    "The unit is one document: a user with many documents is protected much less than epsilon says."
)
INSECURE = (
    "Noise and draws came from a seed (--insecure-seed): there is no guarantee against anybody who "
    "may know it."
)
WARM = (
    "The guarantee covers this training only, not the texts that the weights it started from had "
    "seen."
)
CUSTOM_LOOP = (
    "The loop around the private steps was the caller's own: a tokenizer made from the private "
    "text, and whatever else was done with it, is not covered."
)
VOCABULARY = (
    "The vocabulary and its order were made from the private text and are not covered; a word of "
    "one user may be in it."
)
VOCABULARY_OF_MANY = (
    "The vocabulary and its order were made from the private text and are not covered; words of "
    "fewer than {users} users are not in it, so a single user shows only where a word has just "
    "enough of them."
)

PUBLISHED_VOCABULARY = (
    "The vocabulary was made from the private text and is not covered; words of fewer than {users} "
    "users are not in it, so a single user shows only where a word has just enough of them. Its "
    "order is not told, but who finds the seed of the first weights may recover it."
)


def caveats_of(
    unit: Unit,
    units: int,
    delta: float,
    *,
    insecure: bool,
    warm_started: bool,
    public_vocabulary: bool,
    vocabulary_users: int = 1,
) -> list[str]:
    """The caveats of a training, the gravest first. `vocabulary_users`: the number of users that
    every word of the vocabulary has at least.
    """
    found = [INSECURE] if insecure else []
    found += doubts_about(unit, units, delta)
    if unit == "document":
        found.append(DOCUMENTS)
    if not public_vocabulary:
        many = vocabulary_users > 1
        text = VOCABULARY_OF_MANY.format(users=vocabulary_users) if many else VOCABULARY
        found.append(text)
    if warm_started:
        found.append(WARM)
    return [*found, FIGURES, DIGESTS, TUNING, COUNT.format(unit=unit), FLOATING_POINT]
