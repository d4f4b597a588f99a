"""The harness sees what it must see: what is missing, extra or changed; and does not see ids and times."""

from __future__ import annotations

import copy
import json
import re
import time
import urllib.request

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from vendor_checks import check, page
from vendor_checks.catalogue import FOLDER, Listed, Vendor, vendors
from vendor_checks.check import Result
from vendor_checks.compare import compare, without_listed
from vendor_checks.environment import Environment
from vendor_checks.gain import Gain
from vendor_checks.items import Item, SpanName
from vendor_checks.normalise import normalise
from vendor_checks.protocols import decode, plain
from vendor_checks.receiver import Receiver, Request
from vendor_checks.ways import Run


def span(name, number, parent=0, **attributes):
    """An item for a span, with ids and times that only this run has."""
    span_id = f"{number:016x}"
    value = {
        "id": span_id,
        "parent": f"{parent:016x}" if parent else "",
        "start": time.time_ns(),
        "attributes": attributes,
    }
    return Item("span", name, value, (SpanName(f"{number // 100:032x}", span_id, name),))


def run(first, **attributes):
    """What a run sends, whose ids begin with `first`."""
    return [
        span("root", first, **attributes),
        span("child", first + 1, parent=first),
        Item("log record", "hello", {"span": f"{first:016x}", "at": time.time()}),
        Item("metric point", "orders", {"value": 3}, series="orders"),
    ]


def differences(stock, ours):
    """As lines."""
    return [str(each) for each in compare(normalise(stock), normalise(ours))]


def test_ids_times_and_order_do_not_matter():
    """Two runs that did the same are equal."""
    assert differences(run(1000, a=1), list(reversed(run(2000, a=1)))) == []


def test_a_missing_span_is_found():
    """By its name."""
    ours = run(2000)

    found = differences(run(1000), [ours[0], *ours[2:]])

    assert found == ["missing: span child"]


def test_a_span_that_is_sent_twice_is_found():
    """The number of equal items counts."""
    ours = run(2000)

    assert differences(run(1000), [*ours, ours[1]]) == ["extra: span child"]


def test_a_changed_attribute_is_found():
    """With its path and both values."""
    found = differences(run(1000, a=1, b="same"), run(2000, a=2, b="same"))

    assert found == ["changed: span root\n    attributes.a: stock 1, with otel-fastpath 2"]


def test_another_type_is_a_change():
    """Although 1 equals True in Python."""
    found = differences(run(1000, a=1), run(2000, a=True))

    assert found == ["changed: span root\n    attributes.a: stock 1, with otel-fastpath true"]


def test_an_extra_metric_is_found():
    """Backends bill by series."""
    extra = Item("metric point", "cpython.exceptions", {"value": 1}, series="cpython.exceptions")

    assert differences(run(1000), [*run(2000), extra]) == ["extra: metric point cpython.exceptions"]


def test_another_parent_is_found():
    """The parent's name takes the place of its id."""
    ours = run(2000)
    ours[1] = span("child", 2001, parent=2001)

    found = differences(run(1000), ours)

    assert found == [
        'changed: span child\n    parent: stock "<span root>", with otel-fastpath "<span child>"',
    ]


def test_a_log_record_of_another_span_is_found():
    """Likewise."""
    ours = run(2000)
    ours[2].value["span"] = f"{2001:016x}"

    assert differences(run(1000), ours) == [
        'changed: log record hello\n    span: stock "<span root>", with otel-fastpath "<span child>"',
    ]


def test_a_span_of_another_trace_is_found():
    """Likewise."""
    stock = [span("root", 1000), span("child", 1001)]
    ours = [span("root", 2000), span("child", 2101)]
    for item in (*stock, *ours):
        item.value["trace"] = item.spans[0].trace_id

    assert len(differences(stock, copy.deepcopy(stock))) == 0
    assert differences(stock, ours) == [
        'changed: span root\n    trace: stock "<trace of child>", with otel-fastpath "<trace of root>"',
    ]


def test_only_the_last_point_of_a_series_counts():
    """How often a cumulative metric was exported depends on the time."""
    points = [Item("metric point", "orders", {"value": value}, series="orders") for value in (1, 2, 3)]

    assert differences(points, points[2:]) == []
    assert len(differences(points, points[:2])) == 1


def test_what_is_volatile_keeps_its_type():
    """Whatever the keys or parts of texts are."""

    def item(value):
        return [Item("span", "root", {"thread.id": value, "when": "2020-01-05T12:00:00Z", "text": f"port={value}"})]

    def both(stock, ours):
        return compare(*(normalise(item(value), replaced=[r"(?<=port=)\w+"]) for value in (stock, ours)))

    assert both(1, 2) == []
    assert list(map(str, both(1, "2"))) == [
        'changed: span root\n    thread.id: stock "<int>", with otel-fastpath "<str>"'
    ]


def test_a_time_of_the_programs_own_is_compared():
    """Only times of today differ from run to run."""
    then, now = ([Item("span", "root", {"at": at})] for at in (1578225600 * 10**9, time.time_ns()))

    assert len(differences(then, now)) == 1
    assert len(differences(then, [Item("span", "root", {"at": 1578225601 * 10**9})])) == 1


def test_a_long_text_is_shown_from_its_difference():
    """Stack traces are long."""
    found = differences(run(1000, text=f"{'x' * 5000}a"), run(2000, text=f"{'x' * 5000}b"))

    assert len(found[0]) < 400
    assert 'xa"' in found[0]
    assert 'xb"' in found[0]


def test_of_many_changes_the_first_are_shown():
    """With the number of the others."""
    found = differences(run(1000, **{f"key{n}": 1 for n in range(20)}), run(2000, **{f"key{n}": 2 for n in range(20)}))

    assert found[0].count("stock 1, with otel-fastpath 2") == 12
    assert found[0].endswith("and 8 more")


def test_what_is_listed_is_not_a_difference():
    """At this path, with this value, and nothing else."""
    listed = Listed(r"attributes\.[ab]", "null", "some reason")
    unused = Listed(r"attributes\.never", "null", "another reason")

    def left(ours):
        found = compare(normalise(run(1000, a=1, b=1, c=1)), normalise(ours))
        differences, used = without_listed(found, [listed, unused])
        return list(map(str, differences)), used

    assert left(run(2000, a=None, b=None, c=1)) == ([], {listed})
    assert left(run(2000, a=None, b=1, c=None)) == (
        ["changed: span root\n    attributes.c: stock 1, with otel-fastpath null"],
        {listed},
    )
    assert left(run(2000, a=2, b=1, c=1)) == (
        ["changed: span root\n    attributes.a: stock 1, with otel-fastpath 2"],
        set(),
    )
    assert left(run(2000, a=1, b=1, c=1)[:1])[0][-1] == "missing: span child"


def test_a_listed_difference_that_is_not_found_is_a_fault(monkeypatch, tmp_path):
    """As the list would hide one that comes back."""
    listed = Listed(r"attributes\.a", "null", "some reason")
    vendor = Vendor("some", "Some", ("some",), "some", differences=(listed,))
    sent = {"stock": run(1000, a=1), "launcher-stock": run(1000, a=1), "first": run(2000, a=1)}
    monkeypatch.setattr(check, "provide", lambda _: Environment(tmp_path, {"some": "1.0"}))

    def checked(launcher):
        runs = {**sent, "second": sent["first"], "launcher": launcher}
        monkeypatch.setattr(check, "run", lambda _vendor, _environment, way: Run(normalise(runs[way]), {}, []))
        return check.check(vendor, has_gain=False)

    assert checked(run(2000, a=None)).faults == []
    assert checked(run(2000, a=None)).listed == {listed}
    assert checked(run(2000, a=1)).faults == [r"listed, but nothing differs so: attributes\.a"]


def post(receiver, path, body, headers=()):
    """Send a request to the receiver."""
    request = urllib.request.Request(f"{receiver.address}{path}", body, dict(headers), method="POST")  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - likewise
        return answer.read()


def test_the_receiver_keeps_and_decodes_what_is_exported():
    """With the headers, and a key that is there twice."""
    export = ExportTraceServiceRequest()
    sent = export.resource_spans.add().scope_spans.add().spans.add(name="root", trace_id=b"t" * 16, span_id=b"s" * 8)
    for value in (1, 2):
        sent.attributes.add(key="twice").value.int_value = value

    with Receiver({"/v1/info": '{"project": 1}'}) as receiver:
        post(receiver, "/api/1/v1/traces", export.SerializeToString(), [("X-Key", "k")])
        assert json.loads(post(receiver, "/v1/info", b"")) == {"project": 1}

    shape, item = decode(receiver.requests[0])
    assert shape.value["headers"]["x-key"] == "k"
    assert (item.kind, item.name, item.spans) == ("span", "root", (SpanName("74" * 16, "73" * 8, "root"),))
    assert item.value["attributes"] == {"twice": 1, "twice (number 2)": 2}


def test_sentrys_envelopes_are_taken_apart():
    """Logs come several at a time; the last line may have no end."""
    event = {"message": "a\nb"}
    lines = [
        {"event_id": "0"},
        {"type": "event", "length": len(json.dumps(event))},
        event,
        {"type": "log", "item_count": 2},
        {"items": [{"body": "one"}, {"body": "two"}]},
    ]
    body = "\n".join(json.dumps(line) for line in lines).encode()

    items = decode(Request("POST", "/api/1/envelope/", {}, body))

    assert [(item.kind, item.name) for item in items[1:]] == [
        ("Sentry event", "a\nb"),
        ("Sentry log", "one"),
        ("Sentry log", "two"),
    ]


def test_what_no_protocol_takes_is_compared_as_it_is():
    """Also if it is not text."""
    assert plain.decode(Request("POST", "/anything", {}, b"\xff\x00"))[0].value == ["\\xff\x00"]


@pytest.mark.parametrize("vendor", vendors(), ids=lambda vendor: vendor.name)
def test_each_vendor_has_a_set_up(vendor):
    """Whose functions the program calls."""
    text = (FOLDER / "program" / "setups" / f"{vendor.set_up}.py").read_text(encoding="utf-8")

    for name in ("set_up", "finish"):
        assert re.search(rf"^def {name}\(|^from setups\..* import .*\b{name}\b", text, re.MULTILINE), name


def test_the_page_has_the_lines_of_each_vendor():
    """Names in them are those that the program calls, or that `vendors.toml` sets."""
    page_text = (FOLDER.parents[1] / "docs" / "vendors.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| (.+) \|$", page_text.partition("## How it is checked")[0], re.MULTILINE)[2:]
    catalogue_text = (FOLDER / "vendors.toml").read_text(encoding="utf-8")
    found = set()
    for title, lines in rows:
        named = [each for each in vendors() if each.title.startswith(title)]
        program = "".join((FOLDER / "program" / "setups" / f"{each.set_up}.py").read_text("utf-8") for each in named)
        called = re.findall(r"(\w+)\(", lines) + re.findall(r"\b([A-Z][A-Z_]{3,})=", lines)
        assert [name for name in called if name not in program + catalogue_text] == [], title
        found |= {each.name for each in named}

    assert {each.name for each in vendors()} - found == {"sdk"}


def test_where_the_rest_is():
    """Of a vendor with which less than half is saved: packages with a tenth of it or more."""
    shares = {"some_sdk": 0.7, "opentelemetry.sdk": 0.21, "small": 0.09}
    result = Result(Vendor("some", "Some", ("some-sdk>=1",), "some"), "1.0", items=7, gain=Gain(10, 8, "us", shares))

    assert "\n- Some: `some_sdk` 70%, `opentelemetry.sdk` 21%\n" in page.document([result])


def test_the_table_says_what_is_not_equal_or_not_cheaper():
    """One row for each."""
    vendor = Vendor("some", "Some", ("some-sdk>=1",), "some", goal=5)
    least = Vendor("least", "Least", ("least",), "least", goal_of_sdk=0.5)
    sdk = Vendor("sdk", "SDK", ("opentelemetry-sdk",), "sdk")
    equal = Result(vendor, "1.0", items=7, gain=Gain(100, 50, "us"))
    faulty = Result(vendor, "1.0", faults=["otel-fastpath first: 3 differences\n  more"])
    meant = Result(vendor, "1.0", items=7, listed={Listed("path", "null", "some reason")})
    absent = Result(vendor, unavailable="its environment cannot be made: no\nmore")

    costly = Result(least, "2.0", items=7, gain=Gain(1200, 1151, "us"))
    dearer = Result(sdk, "1.46", items=7, gain=Gain(10, 11, "us"))
    plain_sdk = Result(sdk, "1.45", items=7, gain=Gain(100, 10, "us"))

    rows = page.table([plain_sdk, equal, faulty, meant, absent, costly, dearer]).splitlines()[2:]

    assert rows == [
        "| SDK | `opentelemetry-sdk` 1.45 | equal (7 items) | 100.0 | 10.0 | 90.0 | x10.0 |",
        "| Some | `some-sdk` 1.0 | equal (7 items) | 100.0 | 50.0 | 50.0 | x2.0 (goal: x5) |",
        "| Some | `some-sdk` 1.0 | differs: otel-fastpath first |  |  |  |  |",
        "| Some | `some-sdk` 1.0 | equal (7 items), but for 1 listed below |  |  |  |  |",
        "| Some | `some-sdk` | not checked: its environment cannot be made: no |  |  |  |  |",
        "| Least | `least` 2.0 | equal (7 items) | 1,200.0 | 1,151.0 | 49.0 (goal: 50.0) | x1.0 |",
        "| SDK | `opentelemetry-sdk` 1.46 | equal (7 items) | 10.0 | 11.0 | -1.0 | x0.9 |",
    ]
