"""Money and time as Python has them. The library and the programs count in whole micro-dollars and microseconds."""
from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal


def money(uusd: int) -> Decimal:
    """Dollars, exactly: the context's precision plays no part."""
    return Decimal(f"{uusd}E-6")


def duration(us: int) -> timedelta:
    return timedelta(microseconds=us)


def microseconds(time: timedelta) -> int:
    return time // timedelta(microseconds=1)


def setting(value: object) -> str:
    """A value as `--set KEY=VALUE` of rbplan takes it. Text is passed on as it is: "2h", "log_uniform", "[1, 2]"."""
    if isinstance(value, str):
        return value
    if isinstance(value, timedelta):
        seconds, rest = divmod(microseconds(value), 1_000_000)
        return f"{seconds}.{rest:06d}s" if rest else f"{seconds}s"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return json.dumps(value)  # YAML reads JSON


def settings(changes: Mapping[str, object] | None, **named: object) -> list[str]:
    """Texts such as "deadline=2h": those of `changes`, then the named ones that are not None, which win."""
    texts = [f"{key}={setting(value)}" for key, value in (changes or {}).items()]
    for key, value in named.items():
        if value is not None:
            text = setting(value)
            texts.append(f"{key}={text[1:] if key == 'budget' and text.startswith('$') else text}")
    return texts


def money_text(dollars: Decimal) -> str:
    """For people: "$18.40", below a dollar "$0.1369"."""
    return f"${dollars:.2f}" if dollars >= 1 or dollars == 0 else f"${dollars:.4f}"


def duration_text(time: timedelta) -> str:
    """For people: "1 h 51 m", "12 m 17 s", "52.3 s"."""
    seconds = time.total_seconds()
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} m {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} m"
