"""Claims on the best that finite memories reach: limits, exploration, chains of necklaces."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from priorscope.lab import Check, Claim, Measured, at_least, at_most, near
from priorscope.statistics import Interval, exact, fit_power_law

SOURCE = "Geiger, Eloy & Wyart, How memory architecture affects learning in a simple POMDP (2021)"


def _rows(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    return table[table["kind"] == kind]


def column_ratio(table: pd.DataFrame) -> Measured:
    """The measured q over the formula, where it is farthest from 1."""
    from priorscope.memory import column_limit

    rows = _rows(table, "column")
    ratios = [row["wrong"] / column_limit(int(row["n"]), row["mu"]) for row in rows.to_dict("records")]
    return _farthest(ratios, f"of {len(rows)} columns, exit rate 1e-120")


def column_arms_ratio(table: pd.DataFrame) -> Measured:
    """The measured q over the general formula, where it is farthest from 1."""
    from priorscope.memory import column_limit

    rows = _rows(table, "arms")
    ratios = [r["wrong"] / column_limit(int(r["n"]), (r["high"], r["low"])) for r in rows.to_dict("records")]
    return _farthest(ratios, f"of {len(rows)} columns")


def _farthest(ratios: list[float], note: str) -> Measured:
    return Measured(exact(max(ratios, key=lambda ratio: abs(np.log(ratio)))), f"farthest from 1 {note}")


def doubled_memory(table: pd.DataFrame) -> Measured:
    """q of a column of n over that of a line of 2n states which alone decides the arm, where it is farthest from 1."""
    from priorscope.memory import hellman_cover_limit

    rows = _rows(table, "column").to_dict("records")
    return _farthest(
        [r["wrong"] / hellman_cover_limit(2 * int(r["n"]), r["mu"]) for r in rows], f"of {len(rows)} columns"
    )


def exploration_exponent(table: pd.DataFrame) -> Measured:
    """The exponent of the best exit rate in the restart rate, of the column where it is farthest from one half."""
    fits = [
        fit_power_law(group["reset"].to_numpy(), group["rate"].to_numpy()).exponent
        for _, group in _rows(table, "explore").groupby(["n", "mu"])
    ]
    return Measured(
        exact(max(fits, key=lambda b: abs(b - np.median(fits)))), f"farthest from the median of {len(fits)} columns"
    )


def exploration_prefactor(table: pd.DataFrame) -> Measured:
    """The best exit rate over the law to leading order, at the least restart rate."""
    from priorscope.memory import exit_rate_law

    rows = _rows(table, "explore")
    least = rows[rows["reset"] == rows["reset"].min()].to_dict("records")
    return _farthest(
        [r["rate"] / exit_rate_law(int(r["n"]), r["mu"], r["reset"]) for r in least], f"of {len(least)} columns"
    )


def improvement(table: pd.DataFrame) -> Measured:
    """The least q learnt from near a column over that of the column itself, over sizes, gaps and restart rates."""
    rows = _rows(table, "local")
    ratios = rows["wrong"] / rows["column"]
    return Measured(exact(ratios.min()), f"least of {len(rows)}, eight flows each")


def prime_chains(table: pd.DataFrame) -> Measured:
    """The length of the longest chain over the number of necklaces, at prime m, where it is least."""
    rows = _rows(table, "chain")
    prime = rows[[all(int(m) % d for d in range(2, int(m))) for m in rows["m"]]]
    shares = prime["length"] / prime["necklaces"]
    return Measured(exact(shares.min()), f"least of m = {', '.join(str(int(m)) for m in prime['m'])}")


def above_limit(table: pd.DataFrame) -> Measured:
    """q of necklace policies over the limit of the theorem, where it is least."""
    from priorscope.memory import necklace_limit

    rows = _rows(table, "necklace").to_dict("records")
    ratios = [r["wrong"] / necklace_limit(int(r["m"]), r["mu"]) for r in rows]
    return Measured(exact(min(ratios)), f"least of {len(rows)} policies")


def reaches_limit(table: pd.DataFrame) -> Measured:
    """q over the limit at the slowest rates, where it is greatest."""
    from priorscope.memory import necklace_limit

    rows = _rows(table, "necklace")
    slow = rows[rows["inner"] == rows["inner"].min()].to_dict("records")
    ratios = [r["wrong"] / necklace_limit(int(r["m"]), r["mu"]) for r in slow]
    return Measured(exact(max(ratios)), f"greatest of {len(slow)}, inner rate {slow[0]['inner']:g}")


def necklace_arms_ratio(table: pd.DataFrame) -> Measured:
    """q over the general formula with unequal arms."""
    from priorscope.memory import necklace_limit

    rows = _rows(table, "necklace-arms").to_dict("records")
    return _farthest([r["wrong"] / necklace_limit(int(r["m"]), (r["high"], r["low"])) for r in rows], f"of {len(rows)}")


def equal_arms(table: pd.DataFrame, kind: str) -> Measured:
    """The control: q with unequal arms over the formula for equal ones with the same gap, where it is nearest to 1."""
    from priorscope.memory import column_limit, necklace_limit

    rows = _rows(table, kind).to_dict("records")
    limits = [
        column_limit(int(r["n"]), r["high"] - r["low"])
        if kind == "arms"
        else necklace_limit(int(r["m"]), r["high"] - r["low"])
        for r in rows
    ]
    ratios = [r["wrong"] / limit for r, limit in zip(rows, limits, strict=True)]
    return Measured(exact(min(ratios, key=lambda ratio: abs(np.log(ratio)))), f"nearest to 1 of {len(rows)}")


def leading_order(table: pd.DataFrame) -> Interval:
    """The measured log(1/q - 1) over that of α to the power 2^m, at the longest memory and the slowest rates."""
    rows = _rows(table, "necklace")
    longest = rows[(rows["m"] == rows["m"].max()) & (rows["inner"] == rows["inner"].min())]
    alpha = (1 - longest["mu"]) / (1 + longest["mu"])
    measured = np.log(1 / longest["wrong"] - 1) / (2 ** longest["m"] * np.log(1 / alpha))
    return exact(float(measured.max()))


CLAIMS = (
    Claim(
        "M.1",
        f"{SOURCE}, eq. 7",
        "the column of confidence plays the worse arm with probability α^(2M−1)/(1+α^(2M−1)) when restarts are rare",
        measure=column_ratio,
        expect=near(1, within=1e-5),
    ),
    Claim(
        "M.2",
        f"{SOURCE}, Sec. 3",
        "a column of M states does as well as the best memory of 2M states that decides the arm alone (optimal up to one bit)",
        measure=doubled_memory,
        expect=near(1, within=1e-5),
    ),
    Claim(
        "M.3",
        f"{SOURCE}, eqs. 6 and 22",
        "the best exit rate grows like the root of the restart rate, with the published prefactor",
        checks=(
            Check("exponent", exploration_exponent, near(0.5, within=0.02)),
            Check("best rate over the law", exploration_prefactor, near(1, within=0.01)),
        ),
        changes="the second factor of the denominator stands outside the root; as printed the law is off by more than half",
    ),
    Claim(
        "M.4",
        f"{SOURCE}, Fig. 2",
        "learning from near the best column of confidence finds nothing better, also at large restart rates",
        measure=improvement,
        expect=at_least(0.999),
    ),
    Claim(
        "M.5",
        f"{SOURCE}, eq. 41",
        "for unequal arms 1/q − 1 = (1−k_B)/(1−k_A) ((1/k_B−1)/(1/k_A−1))^(M−1)",
        checks=(
            Check("q over the formula", column_arms_ratio, near(1, within=1e-5)),
            Check("q over the formula for equal arms of the same gap", partial(equal_arms, kind="arms"), at_most(0.98)),
        ),
    ),
    Claim(
        "M.6",
        f"{SOURCE}, Definition 4.1",
        "for a prime m a chain of necklaces in which neighbours differ by one letter passes all of them",
        measure=prime_chains,
        expect=at_least(1),
    ),
    Claim(
        "M.7",
        f"{SOURCE}, Theorem 4.3",
        "a necklace policy plays the worse arm with probability at least q* = 1/(1+α^(m(1−n))), which it reaches as rates vanish",
        checks=(
            Check("least q over the limit", above_limit, at_least(1)),
            Check("q over the limit at the slowest rates", reaches_limit, at_most(1.01)),
        ),
    ),
    Claim(
        "M.8",
        f"{SOURCE}, Table 1",
        "for unequal arms the necklace policy reaches ((1−k_B)/(1−k_A))^m ((1/k_B−1)/(1/k_A−1))^(m(n−2)/2)",
        checks=(
            Check("q over the formula", necklace_arms_ratio, near(1, within=0.02)),
            Check(
                "q over the formula for equal arms of the same gap",
                partial(equal_arms, kind="necklace-arms"),
                at_most(0.98),
            ),
        ),
    ),
    Claim(
        "M.9",
        f"{SOURCE}, note after Theorem 4.3",
        "q* falls like α to the power 2^m",
        measure=leading_order,
        expect=near(1, within=0.15),
        changes="the exponents agree to leading order, not the values: at m = 5 the exponent is 35, not 32",
    ),
)
