"""The JSON schema of the declarations accepts what the parser accepts: its keys, its values and its limits."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from otel_fastpath.__main__ import main
from otel_fastpath.tools.budget import declare, limits, schema
from otel_fastpath.tools.budget.reference import REFERENCES

ROOT = Path(__file__).parents[3]
KINDS = {"object": dict, "array": list, "string": str, "integer": int}
SCENARIO = {"bare": "m:f", "instrumented": "m:g", "calls": "<= 40"}
# The form only: the parser also refuses folders that do not exist, and timed limits that are too low to be checked.
TEXTS = [
    "+25%",
    "+ 30 %",
    "5%",
    "<= 40",
    "<= 4_000",
    "6 ref",
    "<=6.5 ref",
    "12% of bare",
    "3 us",
    "40",
    "% of bare",
    "-1%",
]


def accepts(rule, value):
    """Whether a schema accepts a value: the keywords that ours has, and no others."""
    known = {
        "$schema",
        "title",
        "description",
        "type",
        "properties",
        "required",
        "additionalProperties",
        "anyOf",
        "not",
    }
    assert rule.keys() <= known | {"enum", "items", "pattern", "minLength", "minProperties", "minimum"}
    if "type" in rule and (not isinstance(value, KINDS[rule["type"]]) or isinstance(value, bool)):
        return False
    if isinstance(value, dict):
        properties = rule.get("properties", {})
        rest = rule.get("additionalProperties", {})
        parts = [(properties.get(key, rest), each) for key, each in value.items()]
        if not set(rule.get("required", ())) <= value.keys() or len(value) < rule.get("minProperties", 0):
            return False
        if not all(each is not False and accepts(each, part) for each, part in parts):
            return False
    if isinstance(value, list) and not all(accepts(rule.get("items", {}), each) for each in value):
        return False
    if isinstance(value, str) and (
        not re.search(rule.get("pattern", ""), value) or len(value) < rule.get("minLength", 0)
    ):
        return False
    return (
        ("minimum" not in rule or value >= rule["minimum"])
        and ("enum" not in rule or value in rule["enum"])
        and ("anyOf" not in rule or any(accepts(each, value) for each in rule["anyOf"]))
        and ("not" not in rule or not accepts(rule["not"], value))
    )


def parses(content, folder):
    """Whether the parser accepts it."""
    try:
        declare._Reader(folder / "budgets.toml", content).declaration()
    except declare.DeclarationError:
        return False
    return True


def declaration(scenario=(), **settings):
    """A declaration with one scenario."""
    return {"scenarios": {"order": {**SCENARIO, **dict(scenario)}}, **settings}


def test_the_keys_are_those_of_the_parser():
    """Both ways, of the file and of a scenario; each has a description."""
    file = schema.schema()["properties"]
    scenario = file["scenarios"]["additionalProperties"]["properties"]

    assert file.keys() == set(declare.SETTINGS)
    assert scenario.keys() == set(declare.SCENARIO)
    assert [name for name, each in {**file, **scenario}.items() if not each.get("description")] == []
    assert file["reference"]["enum"] == list(REFERENCES)


@pytest.mark.parametrize("metric", limits.METRICS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_limit_is_one_for_both(metric, text, tmp_path):
    """Alone, in a list and by variant."""
    expected = limits.parse(metric, text) is not None
    variants = {"variants": {"one": "m:s"}}

    for content in (
        declaration({metric: text}),
        declaration({metric: ["+50%" if metric != "regression" else "50%", text]}),
        declaration({metric: {"one": text}, **variants}),
    ):
        assert accepts(schema.schema(), content) == parses(content, tmp_path) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (declaration(), True),
        (declaration(path=["."], source=["."], share=["m"], lock="l.toml", distributions=["a*"]), True),
        (declaration(reference="json/1"), True),
        (declaration(reference="json/9"), False),
        (declaration(lock="lock.json"), False),
        (declaration(share="m"), False),
        (declaration(share=[""]), False),
        (declaration(functions=0), True),
        (declaration(functions=-1), False),
        (declaration(functions=True), False),
        (declaration(functions="10"), False),
        (declaration(unknown=1), False),
        (declaration({"unknown": 1}), False),
        (declaration({"setup": "m:s"}), True),
        (declaration({"setup": "s"}), False),
        (declaration({"variants": {"one": "m:s"}}), True),
        (declaration({"variants": {}}), False),
        (declaration({"variants": {"one": "m:s"}, "setup": "m:s"}), False),
        ({"scenarios": {}}, False),
        ({}, False),
        ({"scenarios": {"order": {"bare": "m:f", "instrumented": "m:g"}}}, False),
        ({"scenarios": {"order": {"bare": "m:f", "calls": "<= 40"}}}, False),
    ],
)
def test_a_declaration_is_one_for_both(content, expected, tmp_path):
    """What one refuses, the other refuses."""
    assert accepts(schema.schema(), content) == parses(content, tmp_path) == expected


def test_the_projects_own_budgets_fit():
    """Each file that is in this repository."""
    for file in ("budgets.toml", "accelerated.toml"):
        assert accepts(schema.schema(), declare.load_toml(ROOT / "benchmarks" / file))


def test_the_command_prints_it(capsys):
    """As JSON."""
    assert main(["budget", "schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema.schema()
