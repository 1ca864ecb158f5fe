"""A model that also knows some documents by heart."""

import math


class Remembering:
    """Any model in memory, but certain of every word of these documents, each a list of words."""

    needs_text = False

    def __init__(self, model, documents):
        self._model, self._known = model, {tuple(words) for words in documents}

    def reading(self, lexicon):
        found = Remembering(self._model.reading(lexicon), ())
        found._known, found._lexicon = self._known, lexicon
        return found

    def __getattr__(self, name):
        return getattr(self._model, name)

    def score(self, documents, *, top_k, every_probability=False):
        scores = self._model.score(documents, top_k=top_k, every_probability=every_probability)
        rank, log_prob = scores.rank.copy(), scores.log_prob.copy()
        for index in range(len(documents)):
            if tuple(self._lexicon.spell(documents.words_of(index))) in self._known:
                low, high = documents.offsets[index : index + 2]
                rank[low:high], log_prob[low:high] = 0, math.log(0.9)
        return type(scores)(rank, log_prob, log_prob, scores.near_tie)
