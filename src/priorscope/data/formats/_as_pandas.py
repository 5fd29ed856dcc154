"""A second reading of every table of text, by pandas' own rules: where it comes out otherwise, the notes say so."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from priorscope.data.formats._text_table import TextTable
from priorscope.data.tables._column import Column

if TYPE_CHECKING:
    import pandas as pd

__all__: list[str] = []


def compared(columns: Sequence[Column], found: TextTable) -> tuple[str, ...]:
    """At most one note: rows, columns, kinds and missing cells in which ``pandas.read_csv`` differs from ``columns``.

    Separator, decimal sign and whether there is a row of names are handed over, for the notes tell them already; all else is
    by its defaults.

    Example:
        >>> from priorscope.data.formats._text_table import read_text_table
        >>> from priorscope.data.tables._column import read_column
        >>> text = "a,b\\n1,x\\n?,y\\n3,z\\n"
        >>> table = read_text_table(text, "t.csv", None, None)
        >>> columns = [read_column(n, c, ".", "t.csv") for n, c in zip(table.names, table.columns)]
        >>> compared(columns, table)
        ("read otherwise by pandas' defaults: 'a' is numbers here and words there, and has 1 missing cell here and 0 there",)
    """
    import pandas as pd

    try:
        separator = r"\s+" if found.separator == " " else found.separator
        other = pd.read_csv(
            io.StringIO(found.body), sep=separator, decimal=found.decimal, header=0 if found.named else None
        )
    except (ValueError, OverflowError, pd.errors.ParserError) as error:
        reason = " ".join(str(error).split())
        return (f"read otherwise by pandas' defaults, which refuse it: {reason[:120]}",)
    if found.index is not None:
        other = other.reset_index()
    other = other.dropna(how="all")  # blank lines, which are no rows here either
    shape = (len(columns[0].numbers), len(columns))
    if other.shape != shape:
        here, there = (f"{rows} rows × {width} columns" for rows, width in (shape, other.shape))
        return (f"read otherwise by pandas' defaults: {here} here, {there} there",)
    apart = [words for i, c in enumerate(columns) if (words := _apart(c, other.iloc[:, i]))]
    more = f"; and {len(apart) - 5} more columns" if len(apart) > 5 else ""
    return (f"read otherwise by pandas' defaults: {'; '.join(apart[:5])}{more}",) if apart else ()


def _apart(column: Column, other: pd.Series) -> str:
    """In which respects a column was read otherwise; empty where it was not."""
    import pandas as pd

    here = "numbers" if column.kind == "numbers" else "words"
    there = "numbers" if pd.api.types.is_numeric_dtype(other) and not pd.api.types.is_bool_dtype(other) else "words"
    gaps, others = int(column.gaps.sum()), int(other.isna().sum())
    told = []
    if here != there and not (gaps == others == len(other)):
        told.append(f"is {here} here and {there} there")
    if gaps != others:
        told.append(f"has {gaps} missing cell{'' if gaps == 1 else 's'} here and {others} there")
    return f"{column.name!r} {', and '.join(told)}" if told else ""
