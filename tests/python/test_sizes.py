# SPDX-License-Identifier: BSD-3-Clause
"""Sizes and lists as people write them."""

import pytest

from sobor.errors import SoborError
from sobor.sizes import counted, human_size, parse_counts, parse_size, parse_sizes, short_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8", 8),
        ("1K", 1024),
        ("1k", 1024),
        ("64KiB", 65536),
        ("64KB", 65536),
        ("1M", 1 << 20),
        ("2GiB", 2 << 30),
        ("12B", 12),
    ],
)
def test_size(text, size):
    assert parse_size(text, "--sizes") == size


@pytest.mark.parametrize("text", ["", "K", "-1", "1.5K", "8 bytes", "1X", "0x10", "9" * 5000])
def test_wrong_size_is_named(text):
    with pytest.raises(SoborError) as error:
        parse_size(text, "--sizes")
    assert "--sizes" in error.value.message
    assert f'"{text}"' in error.value.message


def test_list_of_sizes():
    assert parse_sizes("8,1K,64K", "--sizes") == [8, 1024, 65536]
    with pytest.raises(SoborError, match="at least 1 byte"):
        parse_sizes("8,0", "--sizes")


def test_counts():
    assert parse_counts("2,4", "--ranks") == [2, 4]
    for wrong in ("", "0", "2,x", "-2", "9" * 5000):
        with pytest.raises(SoborError, match="--ranks"):
            parse_counts(wrong, "--ranks")


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0"), (8, "8"), (1024, "1K"), (1500, "1500"), (3 << 20, "3M")]
)
def test_short_size(size, text):
    assert short_size(size) == text
    assert parse_size(text, "--sizes") == size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (8, "8 B"),
        (1 << 19, "512 KiB"),
        (24 << 30, "24 GiB"),
        (1536, "1.5 KiB"),
        (1 << 41, "2.0 TiB"),
    ],
)
def test_human_size(size, text):
    assert human_size(size) == text


def test_counted():
    assert [counted(number, "rank") for number in (0, 1, 2)] == ["0 ranks", "1 rank", "2 ranks"]
