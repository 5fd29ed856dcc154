"""Whether the first row of a table holds the names of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from priorscope.data.tables._column import NUMBER_GAPS
from priorscope.data.tables._notation import is_numeral

__all__: list[str] = []

_SAMPLE = 200  # rows that are looked at to tell a column of numbers


def has_names(rows: Sequence[Sequence[str]], file: str) -> tuple[bool, str]:
    """Whether the first row holds names, and a note where it might have been otherwise.

    It does when its cells are words where the rows below have numbers; it does not when its cells are numbers there, but
    for cells that count the columns or are years, which are names. With both, or a word that occurs again below, the
    answer is not known, and is asked for.
    """
    first, body = [c.strip() for c in rows[0]], rows[1:]
    if not body:
        return not any(is_numeral(c) for c in first), ""
    numeric = [i for i in range(len(first)) if mostly_numbers([r[i] for r in body[:_SAMPLE]])]
    if not numeric:
        seen = all(any(r[i].strip() == c for r in body) for i, c in enumerate(first))
        return (
            (False, "the first row is like the others: no row of names, columns are numbered") if seen else (True, "")
        )
    cells = [first[i] for i in numeric]
    numbers = [c for c in cells if is_numeral(c)]
    words = [c for c in cells if not is_numeral(c) and c.lower() not in NUMBER_GAPS]
    again = [c for i, c in enumerate(first) if c and i not in numeric and any(r[i].strip() == c for r in body)]
    over = [c for i, c in enumerate(first) if c and i not in numeric]
    if (words or over) and not numbers and not again:  # above gaps alone, words that never come again are names
        return True, ""
    years = _are_years(numbers, [r[i] for r in body for i in numeric])
    if words and not years:
        raise ValueError(
            f"the first row of {file} may be names ({words[0][:40]!r} where the other rows hold numbers) or data "
            f"({(numbers or again)[0][:40]!r}). Pass header=True or header=False."
        )
    counts = _count_columns(numbers, numeric)
    if counts and not years and len(numbers) <= 4 and any(r[i].strip() == first[i] for r in body for i in numeric):
        raise ValueError(
            f"the first row of {file} ({', '.join(first)}) may count the columns or be data like the other rows. "
            "Pass header=True or header=False."
        )
    if years or counts:
        return True, f"the first row, {', '.join(first[:4])}, counts the columns: it is read as their names"
    return False, "no row of names: columns are numbered"


def _are_years(cells: Sequence[str], body: Sequence[str]) -> bool:
    """Two or more years in a row, above numbers that are not all years."""
    if len(cells) < 2 or not all(c.isdecimal() and 1900 <= int(c) <= 2100 for c in cells):
        return False
    in_turn = all(int(b) - int(a) == 1 for a, b in pairwise(cells))
    return in_turn and not all(c.strip().isdecimal() and 1900 <= int(c) <= 2100 for c in body)


def _count_columns(cells: Sequence[str], places: Sequence[int]) -> bool:
    """Two or more cells that say 0, 1, 2 … or 1, 2, 3 …, or the places of their columns."""
    if len(cells) < 2 or len(cells) != len(places) or not all(c.isdecimal() for c in cells):
        return False
    counted = [int(c) for c in cells]
    wanted = (list(places), [i + 1 for i in places], list(range(len(cells))), list(range(1, len(cells) + 1)))
    return counted in wanted


def mostly_numbers(cells: Sequence[str]) -> bool:
    """Whether more than half of the first cells that hold anything are numbers."""
    present = [c for c in cells[:_SAMPLE] if c.strip().lower() not in NUMBER_GAPS]
    return bool(present) and 2 * sum(is_numeral(c) for c in present) > len(present)
