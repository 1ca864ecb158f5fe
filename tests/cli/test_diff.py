"""`leakscope diff` on the command line: what is printed, and gates."""

import json

from small_update import update  # noqa: F401 - a fixture


def asked(update, out, *more):  # noqa: F811
    return ["diff", str(update.old), str(update.new), "--out", str(out), "--threads", "1",
            "--length", "3", *more]  # fmt: skip


def test_gates(leakscope, update, tmp_path):  # noqa: F811
    data = ["--new-corpus", str(update.new_corpus), "--old-corpus", str(update.old_corpus)]
    failed = leakscope(*asked(update, tmp_path / "a", *data, "--fail-on", "one_user_found>0"))
    assert failed.code == 1 and "gate: one_user_found>0 holds" in failed.err
    passed = leakscope(*asked(update, tmp_path / "b", *data, "--fail-on", "users_found>1"))
    assert passed.code == 0
    unknown = leakscope(*asked(update, tmp_path / "c", "--fail-on", "one_user_found>0"))
    assert unknown.code == 2 and "give --new-corpus" in unknown.err
    wrong = leakscope(*asked(update, tmp_path / "d", "--fail-on", "nonsense>0"))
    assert wrong.code == 2 and "is not a gate" in wrong.err and not (tmp_path / "d").exists()


def test_json_and_verify(leakscope, update, tmp_path):  # noqa: F811
    ran = leakscope(*asked(update, tmp_path / "a", "--json"))
    assert json.loads(ran.out)["metrics"]["found"] > 0
    assert leakscope("verify", str(tmp_path / "a")).code == 0
    page = tmp_path / "a" / "diff.html"
    page.write_text(page.read_text() + " ")
    assert leakscope("verify", str(tmp_path / "a")).code != 0


def test_an_endpoint_is_refused(leakscope, update, tmp_path):  # noqa: F811
    ran = leakscope("diff", str(update.old), "http://127.0.0.1:9/v1", "--out", str(tmp_path / "d"))
    assert ran.code == 2 and "endpoint" in ran.err
