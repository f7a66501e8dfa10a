# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks shall see, and the command that makes them see it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sobor.launchers.recognition import Launcher

LD_PRELOAD = "LD_PRELOAD"


# Either of them, of whatever installation: one is enough. So is one heap.
_OURS = frozenset({"libsobor.so", "libsobor-profile.so"})
_HEAP = "libsobor-heap.so"


def _name(preload: str) -> str:
    return preload.rpartition("/")[2]


@dataclass(frozen=True)
class Forward:
    """The preload object and the variables that go to the ranks.

    `present` are the SOBOR_* variables of the environment, `chosen` those of the command line. A
    chosen value beats one among the launcher's own options, which beats one of the environment.
    `heap` is the object with the heap, which stands before all other preloads: the first allocator
    of a process is the one it uses.
    """

    preload: str
    present: Mapping[str, str]
    chosen: Mapping[str, str]
    environ: Mapping[str, str]
    heap: str | None = None

    @property
    def variables(self) -> dict[str, str]:
        """All SOBOR_* variables."""
        return {**self.present, **self.chosen}

    @property
    def inherited_preload(self) -> str | None:
        """The user's preloads in the environment."""
        return self.environ.get(LD_PRELOAD)

    def merged_preload(self, user: str | None) -> str:
        """The user's preloads, or else the inherited ones, with ours at the end, once."""
        theirs = self.inherited_preload if user is None else user
        words = re.split(r"[:\s]+", theirs) if theirs else []
        first = [self.heap] if self.heap else []
        ours = _OURS | {_HEAP} if self.heap else _OURS
        kept = (word for word in words if word and _name(word) not in ours)
        return ":".join([*first, *kept, self.preload])

    def as_environment(self, user: str | None = None) -> dict[str, str]:
        """The variables to set when the environment itself is what the ranks see."""
        return {LD_PRELOAD: self.merged_preload(user), **self.variables}


@dataclass(frozen=True)
class Launch:
    """A command ready to be run: its words, and the variables to add to the environment."""

    argv: list[str]
    env: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    launcher: Launcher | None = None
    programs: list[str] = field(default_factory=list)
