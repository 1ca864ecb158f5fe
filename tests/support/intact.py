"""Whether a directory, and all of ours below it, is as it was written."""

import leakscope


def require_intact(out):
    """Fail if anything has changed, is unfinished, unchecked or somebody else's; what is said of
    the directory itself otherwise.
    """
    found = leakscope.verify(out)
    for each in found:
        assert not each.is_damaged and each.unchecked is None and each.unfinished is None, each
        assert each.extra == (), each
    return next(each for each in found if each.path == out)
