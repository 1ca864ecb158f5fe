"""What a run says of the chat template that its model was read with."""

from pathlib import Path

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.corpus.store import Corpus
from leakscope.models.subword.chat_template import chat_of
from leakscope.models.subword.loading import load_tokenizer
from leakscope.records.models.audited_model import ChatTemplate


def chat_record(path: Path, how: LoadingSettings, corpus: Corpus) -> ChatTemplate | None:
    """The role, the digest, and how many training documents the template would change beyond
    white space at their ends (they are read unchanged instead); None without a template.
    """
    if how.chat_template is None:
        return None
    chat = chat_of(load_tokenizer(path, how.base), how.chat_template)
    altered = sum(
        chat.place(text).altered
        for part in corpus.documents(texts=True)
        for text in part.texts or []
    )
    return ChatTemplate(role=chat.role, digest=chat.digest, altered_documents=altered)
