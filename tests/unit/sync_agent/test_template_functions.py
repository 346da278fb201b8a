"""Functions of templates: what sprig's documentation says they return."""

from typing import Any

import pytest

from privatellm_sync_agent.templates import Template, TemplateError
from privatellm_sync_agent.templates.functions import ALL

CONTEXT: dict[str, Any] = {
    "Name": "my_First-name",
    "Text": "a1 b22 c333",
    "List": ["b", "a", "b", ""],
    "Dict": {"a": {"b": "deep"}, "z": "last"},
}


def render(source: str) -> str:
    return Template.parse(source).render(CONTEXT)


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("{{ kebabcase .Name }} {{ snakecase .Name }}", "my-first-name my_first_name"),
        ("{{ camelcase .Name }}", "MyFirstName"),
        ('{{ "HTTPServer" | kebabcase }}', "http-server"),
        ('{{ title "a bc" }} {{ untitle "A Bc" }} {{ swapcase "aB" }}', "A Bc a bc Ab"),
        ('{{ initials "First Try" }} {{ abbrev 5 "hello world" }}', "FT he..."),
        ('{{ trimAll "$" "$5.00$" }} {{ trimSuffix "-" "a-" }} {{ nospace "a b" }}', "5.00 a ab"),
        ('{{ substr 0 2 "abc" }} {{ trunc -2 "abc" }} {{ repeat 2 "ab" }}', "ab bc abab"),
        ('{{ cat "a" 1 "b" }} {{ plural "one" "many" 2 }}', "a 1 b many"),
        ('[{{ indent 2 "a" }}]', "[  a]"),
        ('{{ (split "," "a,b")._1 }} {{ (splitn "," 2 "a,b,c")._1 }}', "b b,c"),
        ('{{ splitList "," "a,b" | last }} {{ join "-" .List }}', "b b-a-b-"),
        ('{{ regexMatch "^a" .Text }} {{ regexFind "[0-9]{2}" .Text }}', "true 22"),
        ('{{ regexFindAll "[0-9]+" .Text 2 | join "," }}', "1,22"),
        ('{{ regexSplit "[0-9]+ ?" .Text 2 | join "," }}', "a,b22 c333"),
        ('{{ regexReplaceAllLiteral "[0-9]" "a1" "$0" }} {{ regexQuoteMeta "a.b" }}', "a$0 a\\.b"),
        ('{{ "a" | b64enc | b64dec }}{{ "a" | b32enc | b32dec }}', "aa"),
        ("{{ add 1 2 3 }} {{ sub 5 2 }} {{ mul 2 3 }} {{ div 7 -2 }} {{ mod -7 2 }}", "6 3 6 -3 -1"),
        ("{{ max 1 3 2 }} {{ min 2 1 }}", "3 1"),
        ("{{ ceil 1.2 }} {{ floor 1.8 }} {{ round 1.256 2 }}", "2 1 1.26"),
        ('{{ int "7" | add1 }} {{ int64 7.9 }} {{ float64 "1.5" }}', "8 7 1.5"),
        ("{{ list 1 2 | toJson }} {{ uniq .List | compact | sortAlpha | toJson }}", '[1,2] ["a","b"]'),
        ("{{ first .List }}{{ last (initial .List) }} {{ rest .List | len }}", "bb 3"),
        ('{{ has "a" .List }} {{ without .List "b" | toJson }}', 'true ["a",""]'),
        ('{{ append (list "a") "b" | reverse | toJson }}', '["b","a"]'),
        ("{{ prepend (list 1) 0 | toJson }}", "[0,1]"),
        ("{{ concat (list 1) (list 2) | toJson }} {{ slice .List 1 3 | toJson }}", '[1,2] ["a","b"]'),
        ('{{ dig "a" "b" "none" .Dict }} {{ dig "a" "x" "none" .Dict }}', "deep none"),
        ('{{ keys .Dict | join "," }} {{ pick .Dict "z" | toJson }}', 'a,z {"z":"last"}'),
        ('{{ omit .Dict "a" | toJson }} {{ hasKey .Dict "q" }}', '{"z":"last"} false'),
        ('{{ dict "a" 1 | toJson }} {{ get .Dict "z" }}', '{"a":1} last'),
        ('{{ merge (dict "a" 1) (dict "a" 2 "b" 3) | toJson }}', '{"a":1,"b":3}'),
        ('{{ mergeOverwrite (dict "a" 1) (dict "a" 2) | toJson }}', '{"a":2}'),
        ('{{ pluck "z" .Dict .Dict | toJson }}', '["last","last"]'),
        ('{{ (fromJson `{"a":{"b":2}}`).a.b }}', "2"),
        ('{{ kindOf 1 }} {{ kindIs "map" .Dict }}', "int true"),
        ("{{ all 1 true }} {{ any 0 false }} {{ deepEqual .List .List }}", "true false true"),
        ('{{ urlquery "a b&c" }} {{ adler32sum "a" }}', "a+b%26c 6422626"),
    ],
)  # fmt: skip
def test_a_function_returns_what_its_documentation_says(source: str, output: str) -> None:
    """Arguments in Go's order, the piped one last."""
    assert render(source) == output


@pytest.mark.parametrize(
    "source",
    [
        "{{ div 1 0 }}",
        '{{ fail "not for you" }}',
        '{{ fromJson "{" }}',
        '{{ fromJson (repeat 4000 "[") }}',
        '{{ b64dec "*" }}',
        '{{ regexMatch "(" "a" }}',
        "{{ first 3 }}",
        "{{ dig }}",
    ],
)
def test_a_function_that_cannot_work_is_a_template_error(source: str) -> None:
    """Whatever Python calls it."""
    with pytest.raises(TemplateError):
        render(source)


def test_a_function_changes_nothing_that_it_was_given() -> None:
    """A template sees what others see as well."""
    before = repr(CONTEXT)
    render(
        '{{ set .Dict "new" 1 | toJson }}{{ unset .Dict "a" | toJson }}{{ merge .Dict (dict "a" 2) }}'
    )
    assert repr(CONTEXT) == before


def test_no_function_makes_much_of_little() -> None:
    """A customer's text cannot fill the agent's memory."""
    assert len(render('{{ repeat 1000000000 "ab" }}')) == 4096


@pytest.mark.parametrize(
    "name", ["env", "expandenv", "getHostByName", "now", "randAlpha", "uuidv4", "genCA", "call"]
)
def test_what_reaches_out_of_the_template_is_left_out(name: str) -> None:
    """The environment, the network, the clock and chance are none of a name's business."""
    assert name not in ALL
