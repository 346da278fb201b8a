"""Templates: Go's rules for the part of its language that providers use."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_sync_agent.naming import hashes
from privatellm_sync_agent.templates import Template, TemplateError

OBJECT = {
    "metadata": {"name": "my-llm", "namespace": "team-a", "labels": {"tier": "gold"}},
    "spec": {"replicas": 2, "ready": True, "items": ["a", "b"], "none": None},
}
CONTEXT = {"Object": OBJECT, "ClusterName": "34hg2j4gh24jdfgf", "Value": "Text"}


def render(source: str) -> str:
    return Template.parse(source).render(CONTEXT)


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("plain", "plain"),
        ("  {{ .ClusterName }}  ", "34hg2j4gh24jdfgf"),
        ("{{ .Object.metadata.name }}-{{ .Object.metadata.namespace }}", "my-llm-team-a"),
        ("a {{- .Object.metadata.name -}} b", "amy-llmb"),
        ("{{ .Object.spec.replicas }}", "2"),
        ("{{ .Object.spec.ready }}", "true"),
        ("{{ .Object.spec.absent }}", "<no value>"),
        ('{{ .Object.spec.absent | default "x" }}', "x"),
        ("{{/* a remark */}}x", "x"),
        ("{{ `raw \\n` }}", "raw \\n"),
        ('{{ "quo\\"ted" }}', 'quo"ted'),
        ("{{ if .Object.spec.ready }}yes{{ else }}no{{ end }}", "yes"),
        ("{{ if .Object.spec.absent }}yes{{ else if .Object.spec.ready }}mid{{ end }}", "mid"),
        ('{{ if and (eq .Object.spec.replicas 2) (ne "a" "b") }}both{{ end }}', "both"),
        (
            "{{ with .Object.metadata }}{{ .name }}{{ $.ClusterName | trunc 2 }}{{ end }}",
            "my-llm34",
        ),
        ('{{ printf "%s-%d-%05d-%q" .ClusterName 3 7 "x" }}', '34hg2j4gh24jdfgf-3-00007-"x"'),
        ('{{ index .Object.metadata.labels "tier" | upper }}', "GOLD"),
        ('{{ (index .Object.spec.items 1) | replace "b" "c" }}', "c"),
        ("{{ (.Object.metadata).name }}", "my-llm"),
        ('{{ .Object.metadata.name | trimPrefix "my-" | quote }}', '"llm"'),
        ("{{ .Value.String | lower }}", "text"),
        ('{{ "p&q <z>" }}', "p&q <z>"),
        ('{{ ternary "a" "b" .Object.spec.ready }}{{ coalesce nil "" "z" }}', "az"),
        ('{{ regexReplaceAll "([a-z])-" "x-y" "${1}_" }}', "x_y"),
    ],
)
def test_a_template_prints_what_go_would_print(source: str, output: str) -> None:
    """Fields, literals, pipelines, branches and functions mean what they mean in Go."""
    assert output == render(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ range .Object.spec.items }}{{ . }}",
        "{{ range .Object.spec.items }}{{ break }}{{ end }}",
        "{{ $x = 1 }}",
        "{{ $x }}",
        "{{ $x, $y := .Object }}",
        "{{ range $a, $b, $c := .Object }}{{ end }}",
        "{{ range $x = .Object }}{{ end }}",
        "{{ if $x := 1 }}{{ end }}{{ $x }}",
        "{{ if 1 }}{{ $x := 1 }}{{ else }}{{ $x }}{{ end }}",
        "{{ .x := 1 }}",
        "{{ $ := 1 }}",
        '{{ define "x" }}{{ end }}',
        "{{ env `HOME` }}",
        "{{ now }}",
        "{{ .Object.metadata.name",
        "{{ if .Object }}x",
        "{{ end }}",
        "{{ }}",
        "{{ (.Object }}",
        "{{ .Object | .ClusterName }}",
        "{{ if .Object }}a{{ else }}b{{ else }}c{{ end }}",
        "{{ .Object ! }}",
    ],
)
def test_what_is_not_supported_is_refused_when_it_is_read(source: str) -> None:
    """Nothing of a template is ignored."""
    with pytest.raises(TemplateError):
        Template.parse(source)


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("{{ range .Object.spec.items }}{{ . }},{{ end }}", "a,b,"),
        ("{{ range $i, $v := .Object.spec.items }}{{ $i }}{{ $v }} {{ end }}", "0a 1b"),
        (
            "{{ range $v := .Object.spec.items }}{{ $v }}{{ $.ClusterName | trunc 2 }}{{ end }}",
            "a34b34",
        ),
        ("{{ range $k, $v := .Object.metadata.labels }}{{ $k }}={{ $v }}{{ end }}", "tier=gold"),
        ("{{ range .Object.spec.none }}x{{ else }}none{{ end }}", "none"),
        ("{{ $x := .Object.metadata }}{{ $x.name }}{{ $x.labels.tier | upper }}", "my-llmGOLD"),
        ("{{ $n := 0 }}{{ range .Object.spec.items }}{{ $n = add1 $n }}{{ end }}{{ $n }}", "2"),
        ("{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}", "21"),
        ("{{ with $l := .Object.metadata.labels }}{{ $l.tier }}{{ .tier }}{{ end }}", "goldgold"),
        ("{{ if $x := .Object.spec.none }}{{ $x }}{{ else }}{{ empty $x }}{{ end }}", "true"),
        ("{{ range $v := .Object.spec.items }}{{ if eq $v `b` }}{{ $v }}{{ end }}{{ end }}", "b"),
    ],
)
def test_loops_and_variables_mean_what_they_mean_in_go(source: str, output: str) -> None:
    """A variable lives in its block, and an assignment changes the one outside."""
    assert output == render(source)


def test_a_loop_over_a_customers_list_has_an_end() -> None:
    """What one object costs is bounded, whatever its lists hold."""
    nested = "{{ range .Value }}{{ range $.Value }}x{{ end }}{{ end }}"
    with pytest.raises(TemplateError, match="steps"):
        Template.parse(nested).render({"Value": list(range(1_000))})


@pytest.mark.parametrize(
    "source",
    [
        "{{ range .ClusterName }}{{ end }}",
        "{{ .Object.spec.absent.deeper }}",
        "{{ .Object.metadata.name.deeper }}",
        "{{ .Object.spec.absent | sha3short }}",
        "{{ sha3short .ClusterName 0 }}",
        "{{ int .ClusterName }}",
        "{{ len 3 }}",
        '{{ printf "%s %s" "one" }}',
    ],
)
def test_a_template_that_fails_for_an_object_says_so(source: str) -> None:
    """A missing value never becomes a part of a name."""
    with pytest.raises(TemplateError):
        render(source)


def test_hashes_have_the_lengths_that_upstream_documents() -> None:
    """An existing deployment's names are found again."""
    assert render("{{ .ClusterName | sha3short }}") == hashes.sha3("34hg2j4gh24jdfgf")[:20]
    assert render("{{ sha3short .ClusterName 12 }}") == hashes.sha3("34hg2j4gh24jdfgf")[:12]
    assert render("{{ .ClusterName | sha3sum }}") == hashes.sha3("34hg2j4gh24jdfgf")
    assert render("{{ .ClusterName | shortHash }}") == hashes.sha1("34hg2j4gh24jdfgf")[:20]


@given(st.text())
def test_any_text_is_read_or_refused(source: str) -> None:
    """No template of a provider can end the agent."""
    with contextlib.suppress(TemplateError):
        Template.parse(source).render(CONTEXT)


@given(st.text())
def test_values_are_never_escaped(value: str) -> None:
    """Output is plain text, not HTML."""
    assert Template.parse("[{{ .Value }}]").render({"Value": value}) == f"[{value}]".strip()


@pytest.mark.parametrize(
    ("pattern", "replacement", "text", "result"),
    [
        ("a(b)", "$1", "ab", "b"),
        ("a(b)", r"\1", "ab", "b"),
        ("a(b)", "${1}x", "ab", "bx"),
        ("a(b)", "$1x", "ab", ""),
        ("(?P<n>a)", "$n$$", "a", "a$"),
        (r"b\z", "", "ab", "a"),
        ("a", "$7", "a", ""),
        ("[[:upper:][:digit:]]+", "x", "ABa1", "xax"),
        (r"\d", "x", "1\u0661", "x\u0661"),
    ],
)
def test_replacements_are_written_in_go_syntax(
    pattern: str, replacement: str, text: str, result: str
) -> None:
    r"""``$1`` as in Go, and ``\1`` as upstream's documentation says."""
    assert result == hashes.go_replace(pattern, replacement, text)


@pytest.mark.parametrize("pattern", ["(", "[[:unknown:]]", "[[a]]"])
def test_a_pattern_that_cannot_be_compiled_is_a_value_error(pattern: str) -> None:
    """Nor one that Go would read in another way; the caller translates it for the provider."""
    with pytest.raises(ValueError, match="cannot be used"):
        hashes.go_replace(pattern, "", "x")
