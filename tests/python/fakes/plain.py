# SPDX-License-Identifier: BSD-3-Clause
"""JSON for the stand-ins: the package for it takes longer to load than all else that they do."""

import os


def dumps(value) -> str:
    """A value of dictionaries, lists, texts and numbers as json.dumps has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{dumps(str(k))}: {dumps(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(dumps, value)) + "]"
    if isinstance(value, str):
        for each, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
            value = value.replace(each, escaped)
        return f'"{value}"'
    return "null" if value is None else repr(value).lower()


def given(name: str):
    """The value of JSON that a variable has; None without one."""
    if not os.environ.get(name):
        return None
    import json  # noqa: PLC0415 - few ask for it

    return json.loads(os.environ[name])
