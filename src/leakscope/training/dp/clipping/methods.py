"""The ways to compute a clipped sum, by name. Settings read them, so nothing here imports torch."""

from typing import Literal

Method = Literal["auto", "microbatch", "ghost"]
METHODS: tuple[Method, ...] = ("auto", "microbatch", "ghost")
