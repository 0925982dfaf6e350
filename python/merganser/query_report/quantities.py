"""Numbers, and names, as people read them."""

LONGEST_NAME = 60
UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def count(value: int) -> str:
    """1234567 -> 1,234,567"""
    return f"{value:,}"


def amount(value: int, noun: str) -> str:
    """1 -> 1 task, 8 -> 8 tasks, 2 -> 2 retries"""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count(value)} {noun if value == 1 else many}"


def percent(share: float) -> str:
    """0.4567 -> 46 %, 0.001 -> <1 %"""
    return f"{share:.0%}".replace("%", " %") if share >= 0.01 or share == 0 else "<1 %"


def size(value: int) -> str:
    """1234567 -> 1.23 MB; decimal units, as in the rest of the documentation."""
    for unit, name in UNITS:
        if value >= unit:
            return f"{value / unit:.3g} {name}" if value < 1000 * unit else f"{value / unit:,.0f} {name}"
    return f"{value} B"


def seconds(value: float) -> str:
    """0.000123 -> 0.12 ms, 12.3456 -> 12.3 s"""
    if value >= 3600:
        return f"{value // 3600:,.0f} h {value % 3600 // 60:.0f} min"
    if value >= 120:
        return f"{value // 60:.0f} min {value % 60:.0f} s"
    if value >= 100:
        return f"{value:,.0f} s"
    if value >= 1:
        return f"{value:.3g} s"
    return f"{value * 1e3:.3g} ms" if value >= 0.01 else f"{value * 1e3:.2f} ms"


def factor(value: float) -> str:
    """1.234 -> 1.2x"""
    return f"{value:,.0f}x" if value >= 100 else f"{value:.1f}x"


def estimate_against(estimated: int, actual: int) -> str:
    """How far an estimate is off: "as estimated", "2.9x more", "4.0x fewer"."""
    if estimated == actual:
        return "as estimated"
    more, less = max(estimated, actual, 1), max(min(estimated, actual), 1)
    if more / less < 1.05:
        return "about as estimated"
    return f"{factor(more / less)} {'more' if actual > estimated else 'fewer'}"


def shortened(text: str, length: int = LONGEST_NAME) -> str:
    """As much of it as fits."""
    return text if len(text) <= length else text[: length - 1] + "…"
