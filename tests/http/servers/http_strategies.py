"""Requests of all kinds, for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
UNSAMPLED = PARENT[:-1] + "0"

METHODS = st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "get", "BREW", "QUERY"])
PATHS = st.sampled_from(
    [
        "/",
        "/items/3",
        "/items/77",
        "/nope",
        "/boom",
        "/late",
        "/items/%20x",
        "/a b",
        "/caf\xe9",
        "/x;y=1,2",
        "//items/3",
    ]
)
QUERIES = st.sampled_from(["", "a=1", "sig=SECRET", "a=%20&Signature=x", "q=\xff"])
PARENTS = st.sampled_from(
    [
        {},
        {},
        {"traceparent": PARENT},
        {"traceparent": UNSAMPLED},
        {"traceparent": PARENT, "tracestate": "a=b"},
        {"traceparent": "rubbish"},
        {"baggage": "user=1"},
        {"traceparent": PARENT, "baggage": "user=1"},
    ]
)
AGENTS = st.sampled_from([None, "", "curl/8.5.0", "googlebot", "alwayson", "\xff\\x", "M" * 2000])
HOSTS = st.sampled_from(["example.com", "example.com:8080", "user@h", "h:80", "\xe9"])


def environs():
    """Requests in WSGI's form, also some that servers do not make."""
    maybe = lambda *values: st.sampled_from([None, *values])  # noqa: E731  # a short name for a strategy
    fixed = st.fixed_dictionaries(
        {
            "REQUEST_METHOD": METHODS,
            "PATH_INFO": PATHS,
            "QUERY_STRING": QUERIES,
            "SCRIPT_NAME": st.sampled_from(["", "", "/mounted"]),
            "SERVER_NAME": st.sampled_from(["127.0.0.1", "server"]),
            "SERVER_PORT": st.sampled_from(["80", "8000"]),
            "SERVER_PROTOCOL": st.sampled_from(["HTTP/1.1", "HTTP/1.0", "http/2", "other", ""]),
            "wsgi.url_scheme": st.sampled_from(["http", "https"]),
            "HTTP_HOST": maybe("example.com", "example.com:8080", "user@h"),
            "HTTP_USER_AGENT": AGENTS,
            "RAW_URI": maybe("/items/3?a=1", "", "http://h/items/3"),
            "REQUEST_URI": maybe("/uri"),
            "REMOTE_ADDR": maybe("", "10.0.0.1"),
            "REMOTE_HOST": maybe("10.0.0.1", "client"),
            "REMOTE_PORT": maybe("", "50000", 50001, "odd"),
            "HTTP_X_SECRET": maybe("s3cret"),
        }
    )

    def flat(parts):
        environ, parent = parts
        found = {name: value for name, value in environ.items() if value is not None}
        return {**found, **{f"HTTP_{name.upper()}": value for name, value in parent.items()}}

    return st.tuples(fixed, PARENTS).map(flat)
