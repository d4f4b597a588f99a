"""Facts in plain Python: code over the objects that they are about."""

from types import SimpleNamespace

from otel_fastpath.compiled.facts import Facts


def test_facts_of_one_form_are_about_their_own_objects():
    """As those of two providers: what the interpreter notes in the code of one is not noticed by the other."""
    first, second = SimpleNamespace(name=1), SimpleNamespace(name=2)
    facts = [Facts([(first, "name", 1)]), Facts([(second, "name", 2)])]
    codes = [each.hold.__code__ for each in facts]

    assert [each.hold() for each in facts] == [True, True]
    assert codes[0] is not codes[1]
    assert codes[0] == codes[1]
    second.name = 3
    assert [each.hold() for each in facts] == [True, False]
