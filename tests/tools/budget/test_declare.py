"""Declarations: what they say, and one line for everything that is wrong with them."""

from __future__ import annotations

import sys

import pytest

from otel_fastpath.tools.budget import declare
from otel_fastpath.tools.budget.declare import DeclarationError

GOOD = """
[scenarios.hook]
bare = "hooks:work"
instrumented = "hooks:hooked"
calls = "<= 3"
"""


def test_a_declaration_says_what_to_measure(project):
    """Scenarios, their callables and limits, and the settings around them."""
    file = project.write(
        "budgets.toml",
        """
        reference = "json/1"
        lock = "counts.toml"
        share = ["numpy"]
        distributions = ["opentelemetry-*"]
        [scenarios."http server"]
        bare = "hooks:work"
        instrumented = "hooks:hooked"
        setup = "hooks:work"
        bytecodes = ["+2%", "<= 300"]
        overhead = "0.35 ref"
        """,
    )

    found = declare.read(file)

    assert (found.reference, found.share, found.distributions) == ("json/1", ("numpy",), ("opentelemetry-*",))
    assert found.lock == project.folder / "counts.toml"
    assert found.path == found.source == (project.folder,)
    scenario = found.scenarios["http server"]
    assert (scenario.bare, scenario.instrumented, scenario.setup) == ("hooks:work", "hooks:hooked", "hooks:work")
    assert [(limit.metric, limit.text) for limit in scenario.limits] == [
        ("overhead", "0.35 ref"),
        ("bytecodes", "+2%"),
        ("bytecodes", "<= 300"),
    ]


def test_a_share_of_stock_needs_a_variant_stock(project):
    """That variant may have no limit of its own."""
    limited = GOOD + 'bytecodes = { c = "<= 100% of stock" }\nvariants = { c = "hooks:work", VARIANT = "hooks:work" }\n'

    found = declare.read(project.write("good.toml", limited.replace("VARIANT", "stock").replace('calls = "<= 3"', "")))
    with pytest.raises(DeclarationError, match="expected a variant stock, for a share of its count"):
        declare.read(project.write("bad.toml", limited.replace("VARIANT", "other")))

    assert [limit.text for limit in found.scenarios["hook[c]"].limits] == ["<= 100% of stock"]
    assert found.scenarios["hook[stock]"].limits == ()


def test_variants_are_scenarios_with_a_set_up_each(project):
    """A limit holds for all variants, or for the one that it names."""
    file = project.write(
        "budgets.toml",
        """
        [scenarios.hook]
        bare = "hooks:work"
        instrumented = "hooks:hooked"
        variants = { c = "hooks:work", py = "hooks:broken" }
        calls = "<= 3"
        instructions = { c = "<= 10" }
        """,
    )

    found = declare.read(file).scenarios

    assert {name: scenario.setup for name, scenario in found.items()} == {
        "hook[c]": "hooks:work",
        "hook[py]": "hooks:broken",
    }
    assert [limit.metric for limit in found["hook[c]"].limits] == ["calls", "instructions"]
    assert [limit.metric for limit in found["hook[py]"].limits] == ["calls"]


def test_a_pyproject_is_found_from_below(project):
    """The nearest one that has budgets is taken, and its source folder is src where there is one."""
    text = "[tool.otel-fastpath.budgets.scenarios.hook]\nbare='hooks:work'\ninstrumented='hooks:hooked'\ncalls='<= 3'\n"
    file = project.write("pyproject.toml", text)
    below = project.folder / "src" / "package"
    below.mkdir(parents=True)
    (project.folder / "src" / "pyproject.toml").write_text("[project]\nname = 'other'\n")

    assert declare.find(below) == file
    assert declare.read(file).source == (project.folder / "src",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "scenario = 1",
            (
                "scenario = 1: expected one of the keys reference, path, source, share, lock, distributions, "
                "functions, scenarios"
            ),
        ),
        ("", "scenarios = (not set): expected a table for each scenario"),
        ("scenarios = []", "scenarios = []: expected a table for each scenario"),
        ("[scenarios]\nhook = 1", "scenarios.hook = 1: expected a table with bare, instrumented and limits"),
        ("reference = 'loop/1'", 'reference = "loop/1": expected one of minispan/1, json/1'),
        ("lock = 'lock.json'", 'lock = "lock.json": expected the name of a TOML file'),
        ("share = 'numpy'", 'share = "numpy": expected a list of strings'),
        ("path = 'here'", 'path = "here": expected a list of folders'),
        ("[scenarios.hook]\nbare = 'work'", 'scenarios.hook.bare = "work": expected "module:function"'),
        ("[scenarios.hook]\nbare = 'a:b'", 'scenarios.hook.instrumented = (not set): expected "module:function"'),
        (
            GOOD + "budget = 3",
            (
                "scenarios.hook.budget = 3: expected one of the keys bare, instrumented, setup, "
                "variants, regression, overhead, bytecodes, calls, allocations, instructions, cache_lines, max_cpu"
            ),
        ),
        (GOOD + "setup = 3", 'scenarios.hook.setup = 3: expected "module:function"'),
        (
            GOOD + "variants = 3",
            ('scenarios.hook.variants = 3: expected a table of name = "module:function" instead of setup'),
        ),
        (
            GOOD + "bytecodes = { c = '+2%' }",
            ('scenarios.hook.bytecodes.c = "+2%": expected the name of one of the variants'),
        ),
        (
            GOOD + "bytecodes = 420",
            (
                'scenarios.hook.bytecodes = 420: expected "+<number>%" (of the calibrated count), '
                '"<= <number>" or "<= <number>% of stock"'
            ),
        ),
        (GOOD + "regression = '1%'", 'scenarios.hook.regression = "1%": expected "<number>%", at least 2%'),
        (
            GOOD + "overhead = ['1 ref', '3']",
            (
                'scenarios.hook.overhead = "3": expected "<number> ref", "<number>% of '
                'bare", "<number> us" or "+<number>%", at least +20%'
            ),
        ),
        (
            GOOD.replace('calls = "<= 3"', ""),
            (
                "scenarios.hook = (not set): expected at least one limit: regression, "
                "overhead, bytecodes, calls, allocations, instructions, cache_lines, max_cpu"
            ),
        ),
    ],
)
def test_every_mistake_is_one_line(project, text, message):
    """File, key, value and what was expected; nothing else, and never a traceback."""
    file = project.write("budgets.toml", text)

    with pytest.raises(DeclarationError) as caught:
        declare.read(file)

    assert str(caught.value) == f"{file}: {message}"


def test_a_folder_that_is_not_there_is_a_mistake(project):
    """The message says what the name is relative to."""
    file = project.write("budgets.toml", "source = ['lib']")

    with pytest.raises(DeclarationError) as caught:
        declare.read(file)

    assert str(caught.value) == f'{file}: source = "lib": expected a folder, relative to {project.folder}'


def test_what_is_no_toml_is_a_mistake(project):
    """So is a file that is not there, and a pyproject without budgets."""
    broken, other = project.write("budgets.toml", "[scenarios"), project.write("pyproject.toml", "[project]")

    for file, part in ((broken, ": expected TOML"), (other, "expected a table [tool.otel-fastpath.budgets]")):
        with pytest.raises(DeclarationError) as caught:
            declare.read(file)
        assert str(caught.value).startswith(f"{file}: ")
        assert part in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(DeclarationError, match="No such file or directory: expected a readable file"):
        declare.read(project.folder / "none.toml")


def test_keys_of_a_pyproject_are_given_in_full(project):
    """Somebody who searches the file for the key finds it."""
    file = project.write("pyproject.toml", "[tool.otel-fastpath.budgets.scenarios.'a b']\nbare = 3\n")

    with pytest.raises(DeclarationError) as caught:
        declare.read(file)

    assert 'tool.otel-fastpath.budgets.scenarios."a b".bare = 3' in str(caught.value)


@pytest.mark.skipif(sys.version_info >= (3, 11), reason="from 3.11 on Python reads TOML itself")
def test_python_3_10_says_what_it_reads_toml_with(project, monkeypatch):
    """Without tomli the message is one line that names the extra."""
    monkeypatch.setitem(sys.modules, "tomli", None)

    with pytest.raises(DeclarationError, match=r"pip install otel-fastpath\[budget\]"):
        declare.read(project.declare('calls = "<= 3"'))


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["span[c]"], ["span[c]"]),
        (["span*"], ["span[c]", "span[py]", "spans"]),
        (["span[[]c]", "none"], ["span[c]"]),
        (["span"], ["span[c]", "span[py]"]),
        (["?pan"], ["span[c]", "span[py]"]),
        (["spa"], []),
    ],
)
def test_scenarios_are_chosen_by_name_or_pattern(patterns, expected):
    """The brackets of a variant are those of a pattern, too; without them, a name is that of all variants."""
    names = ["span[c]", "span[py]", "spans", "other"]

    assert [name for name in names if declare.is_chosen(name, patterns)] == expected
