"""Random headers of propagators: usual ones, nearly usual ones, and values of other types."""

from __future__ import annotations

TRACE, SPAN = f"{0x0AF7651916CD43DD8448EB211C80319C:032x}", f"{0xB7AD6B7169203331:016x}"
CHARACTERS = "abz019=;,%+ \t'\\/-_.~:|*(){}&#é\u00a0\u0664\U0001f600\n" + chr(34)
B3 = ["b3", "x-b3-traceid", "x-b3-spanid", "x-b3-sampled", "x-b3-flags"]
W3C = ["traceparent", "tracestate", "baggage"]
NAMES = [*W3C, *B3, "uber-trace-id", "X-Amzn-Trace-Id", "uberctx-user", "uberctx-", "other"]


class Text(str):
    """A text that says something else."""

    __slots__ = ()

    def __str__(self):  # noqa: D105  # as its class says
        return f"told {len(self)}"


ESCAPED = ("%20a%20=%20b", "a=%C3%A9", "a=%zz%4", "a=%ff%fe", "a+b=c+d", "k = v", "=v", "k", "a=%C2%A0x%C2%A0")
ODD = (None, "", [], (), b"bytes", 7, [None], [b"a=b"], object, Text("a=b"), ("a=b", "c=d"), ["", "x"])


def edited(rng, text):
    """The text after up to three edits."""
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        at = rng.randrange(len(text) + 1)
        put = "".join(rng.choice(CHARACTERS + "fF0") for _ in range(rng.randrange(3)))
        text = text[:at] + put + text[at + rng.randrange(3) :]
    return text


def word(rng, longest=6):
    """A few characters of any kind."""
    plain = rng.random() < 0.7
    return "".join(rng.choice("abcXYZ019._-" if plain else CHARACTERS) for _ in range(rng.randrange(longest + 1)))


def entry(rng):
    """One entry of a header with baggage."""
    kind = rng.random()
    if kind < 0.5:
        return f"{word(rng) or 'k'}={word(rng)}"
    if kind < 0.7:
        return f"{word(rng)}={word(rng)};{word(rng)}={word(rng)};{word(rng)}"
    if kind < 0.8:
        return rng.choice(ESCAPED)
    if kind < 0.83:
        return f"k={'v' * rng.choice((4093, 4094, 4095, 4096, 5000))}"
    return edited(rng, "key=value;property=1")


def baggage_header(rng):
    """A header with baggage."""
    count = rng.choice((1, 2, 2, 3, 4, 179, 180, 181, 200) if rng.random() < 0.2 else (1, 2, 3))
    separator = rng.choice((",", ",", ", ", " ,", "\t, ", ",,", " , ,"))
    made = separator.join(entry(rng) if count < 10 else f"k{number}=v" for number in range(count))
    return rng.choice(("", "", "", ",", " ", ", ")) + made + rng.choice(("", "", "", ",", " "))


def header(rng, name):
    """A value of a header: usual, nearly so, or of another type."""
    odd = rng.random()
    if odd < 0.06:
        return rng.choice(ODD)
    trace = rng.choice((TRACE, TRACE, TRACE, "0" * 32, TRACE.upper(), TRACE[:16]))
    span = rng.choice((SPAN, SPAN, SPAN, "0" * 16, SPAN.upper()))
    single = (f"{trace}-{span}-1", f"{trace}-{span}", f"{trace}-{span}-d-{span}", "0", f"{trace}-{span}-0-1-2")
    jaeger = rng.choice((trace, trace, "1f", "0", "0x1")), rng.choice((span, span, "2", " 3"))
    made = {
        "traceparent": f"{rng.choice(('00', '00', '01', 'ff'))}-{trace}-{span}-{rng.choice(('01', '00', '03', 'ff'))}",
        "tracestate": rng.choice(("a=1,b=2", "", "a=1,a=2", "=", "x" * 600)),
        "b3": rng.choice(single),
        "x-b3-traceid": trace,
        "x-b3-spanid": span,
        "x-b3-sampled": rng.choice(("1", "0", "true", "d", "x")),
        "x-b3-flags": rng.choice(("1", "0")),
        "uber-trace-id": ":".join((*jaeger, "0", rng.choice(("1", "00", "3", "x")))),
        "X-Amzn-Trace-Id": rng.choice(
            (
                f"Root=1-{trace[:8]}-{trace[8:]};Parent={span};Sampled={rng.choice('012')}",
                f"Sampled=1; Parent={span} ;Self=x;Root=1-{trace[:8]}-{trace[8:]}",
                f"Root=1-{trace[:8]}-{trace[8:]}",
                f"Parent=bad;Parent={span};Root=1-{trace[:8]}-{trace[8:]}",
            )
        ),
    }.get(name)
    if made is None:
        made = baggage_header(rng) if name == "baggage" else word(rng)
    if rng.random() < 0.35:
        made = edited(rng, made)
    if rng.random() < 0.1:
        return rng.choice(([made], (made,), [made, "second"], {made: 1}))
    return made


def headers(rng):
    """Some headers, in some order."""
    usual = rng.choice((["traceparent"], ["traceparent", "baggage"], ["baggage"], NAMES[:9], NAMES, NAMES))
    return {name: header(rng, name) for name in rng.sample(usual, rng.randint(min(1, len(usual)), len(usual)))}
