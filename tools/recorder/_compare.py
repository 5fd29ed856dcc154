"""Where two summaries differ: words exactly, numbers within a share of their scale."""

from __future__ import annotations

from typing import Any

from recorder._summary import NUMBER

ANY = "?"  # stands for what is not the same twice


def differences(was: Any, now: Any, within: float, at: str = "") -> list[str]:
    """One line per place where ``now`` is not ``was``."""
    if was in (now, ANY):
        return []
    if isinstance(was, dict) and isinstance(now, dict) and list(was) == list(now):
        return [line for k in was for line in differences(was[k], now[k], within, f"{at}.{k}")]
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        if was and all(type(v) is float for v in [*was, *now]):  # numbers of one array: by the scale of the largest
            scale = max(1e-300, *(abs(v) for v in was if v == v and abs(v) != float("inf")), 0.0)
            moved = max(apart(a, b, scale) for a, b in zip(was, now))
            return [f"{at}: {was} is now {now}"] if moved > within else []
        return [line for i, (a, b) in enumerate(zip(was, now)) for line in differences(a, b, within, f"{at}[{i}]")]
    if isinstance(was, float) and isinstance(now, float):
        return [f"{at}: {was} is now {now}"] if apart(was, now, abs(was)) > within else []
    if isinstance(was, str) and isinstance(now, str) and NUMBER.sub("#", was) == NUMBER.sub("#", now):
        return [line for a, b in zip(NUMBER.findall(was), NUMBER.findall(now)) for line in in_words(a, b, within, at)]
    return [f"{at}: {short(was)} is now {short(now)}"]


def in_words(was: str, now: str, within: float, at: str) -> list[str]:
    """Numbers in a text: whole ones exactly, others to their last digit but one where rounding can move it."""
    if was == now:
        return []
    try:
        a, b = (float(v.replace("−", "-").replace(",", "")) for v in (was, now))
    except ValueError:
        return [f"{at}: {was} is now {now}"]
    near = "." in was and apart(a, b, abs(a)) <= max(within, 1e-6)
    return [] if near else [f"{at}: {was} is now {now}"]


def apart(a: float, b: float, scale: float) -> float:
    """The difference as a share of the scale; 0 for two that are not numbers, or the same infinity."""
    if a == b or (a != a and b != b):
        return 0.0
    size = abs(a - b) / scale if scale else float("inf")
    return size if size == size else float("inf")


def short(x: Any) -> str:
    text = str(x)
    return text if len(text) < 160 else text[:157] + "…"


def steady(first: Any, second: Any, loose: float) -> tuple[Any, float]:
    """What two runs agree on, the rest as ``?``; and how far numbers that agree within ``loose`` are apart."""
    if first == second:
        return first, 0.0
    if isinstance(first, dict) and isinstance(second, dict) and list(first) == list(second):
        pairs = {k: steady(first[k], second[k], loose) for k in first}
        return {k: v for k, (v, _) in pairs.items()}, max(size for _, size in pairs.values())
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        if all(type(v) is float for v in [*first, *second]):
            scale = max(1e-300, *(abs(v) for v in first if v == v and abs(v) != float("inf")), 0.0)
            size = max(apart(a, b, scale) for a, b in zip(first, second))
            return (first, size) if size <= loose else (ANY, 0.0)
        both = [steady(a, b, loose) for a, b in zip(first, second)]
        return [v for v, _ in both], max((size for _, size in both), default=0.0)
    if type(first) is float and type(second) is float:
        size = apart(first, second, abs(first))
        return (first, size) if size <= loose else (ANY, 0.0)
    return (first, 0.0) if not differences(first, second, 1e-6) else (ANY, 0.0)
