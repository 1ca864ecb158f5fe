"""What a command says of damaged work that it had kept."""

BEGIN = "damaged, made again: "


class ToldDamage:
    """Progress that remembers which files were named as damaged."""

    def __init__(self):
        self.names = []

    def __call__(self, stage, done, total=None, note=""):
        if stage.endswith("warning") and note.startswith(BEGIN):
            self.names.append(note.removeprefix(BEGIN).split(" in ")[0])


def named_of(damaged, files):
    """What is named of one damaged file among the files of a folder: the part that it is, or that
    it belongs to by its words or its seal. What is half-written stands in no place of a part.
    """
    part = damaged.name.removesuffix(".seal").removesuffix(".words")
    there = not damaged.name.startswith(".") and damaged.with_name(part) in files
    return [part] if there else []
