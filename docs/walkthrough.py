"""leakscope from Python: build a corpus, train a model, report, look. Run it cell by cell.

The tests run this file as it stands. Everything is written below the current directory.
"""

# %% A corpus of people whose secrets are made up, and known.
import leakscope

leakscope.corpus.synth("synth", users=12, words=8000)
corpus = leakscope.corpus.build("synth/data.parquet", "corpus")
print(corpus.users, "users,", corpus.train.words, "words to train on")

# %% A small model that learns them too well.
trained = leakscope.train(
    "corpus", "model", arch="gru", embedding=16, hidden=32, epochs=4, batch_size=16,
    learning_rate=0.02,
)  # fmt: skip
print(trained.path, "validation perplexity", trained.history[-1]["validation_perplexity"])

# %% The report. Options have the names of the command line: top_k for --top-k.
run = leakscope.report("model", "corpus", "run", top_k=3, reveal=True)
print(run)  # in a notebook, `run` alone shows a table

# %% The same with settings objects, which say what belongs together.
from leakscope.settings import PublicSettings, ReportSettings

judged = leakscope.report(
    "model", "corpus", "judged", ReportSettings(top_k=3), PublicSettings("crossfit", folds=2)
)
print("leakage epsilon", judged.metrics.leakage_epsilon)

# %% Look at what came out: Arrow tables, for pandas, polars or DuckDB.
sequences = run.sequences().sort_by([("users_in_d", "ascending"), ("length", "descending")])
print(run.metrics.unique_sequences, "unique sequences, such as", sequences["sequence"][0].as_py())
print("the page:", run.page)

# %% Ask the model, compare the runs, harden the interface.
print(leakscope.probe("model", "Please", top_k=3).suggestions)
rows = leakscope.compare(["run", "judged"], "comparison", allow_mixed=True)
points = leakscope.harden("run", "corpus", "hardened")
print(len(rows), "runs side by side;", points[0].unique_sequences, "unique sequences are left")

# %% Open a run again later. What cannot be is said in one sentence.
again = leakscope.open_run("run")
assert again.metrics == run.metrics
try:
    leakscope.report("model", "corpus", "other", topk=3)
except leakscope.LeakscopeError as error:
    print(error)
