"""Requests that are almost good: random bytes never come near the door, a good request's wrong byte does.

A request is a list of fields, each a name and a value. A change puts none, one or two fields in the place
of one; a few changes in a row make a near miss, or leave the request as good as it was.
"""

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

Field = tuple[bytes, bytes]
"""Name and value; in a request as it is sent, the first field is method and target."""

Fields = list[Field]
Change = Callable[[st.DrawFn, Field, Sequence[bytes]], Fields]
"""From a field, and words that mean something to the reader, to what stands in its place."""

MOST_CHANGES = 3

SEPARATORS = tuple(bytes((byte,)) for byte in b"-_.!#$%&'*+^`|~ ")
"""What may stand between the words of a header's name, as a careful or a careless reader sees it."""

SEGMENTS = (
    *(b".", b"..", b"..;", b"%2e%2e", b"%2f", b"%00", b"\\"),
    *(b"llm", b"v1", b"V1", b"models", b"models ", b"slots", b"props", b"?", b"#"),
)

ENDS = (b"/", b"/.", b"/..", b"?", b"?x=/../y", b"#", b"#x", b";x=1", b"%20", b"%00", b".", b"\n")

NAMES = (
    *(b"authorization", b"Authorization", b"host", b"connection", b"forwarded"),
    *(b"x-forwarded-uri", b"X-Forwarded-Host", b"x-forwarded-method", b"x_forwarded_uri"),
    *(b"x-private-llm-key-id", b"X.Private.Llm.Instance", b"x-original-url", b"x"),
)


def mutations(good: Fields, words: Sequence[bytes]) -> st.SearchStrategy[Fields]:
    """Return requests that up to :data:`MOST_CHANGES` changes make of a good one.

    Args:
        good: The request that would be let in.
        words: Values that mean something to whoever reads the request, such as other keys and paths.
    """
    return _changed(good, words, CHANGES)


def detours(path: bytes) -> st.SearchStrategy[bytes]:
    """Return paths that up to :data:`MOST_CHANGES` changes make of one."""
    return _changed([(b"", path)], (), CHANGES_OF_PATHS).map(lambda fields: fields[0][1])


@st.composite
def _changed(
    draw: st.DrawFn, good: Fields, words: Sequence[bytes], changes: Sequence[Change]
) -> Fields:
    fields = list(good)
    for _ in range(draw(st.integers(0, MOST_CHANGES))):
        if fields:
            position = draw(st.integers(0, len(fields) - 1))
            change = draw(st.sampled_from(changes))
            fields[position : position + 1] = change(draw, fields[position], words)
    return fields


def _dropped(_draw: st.DrawFn, _field: Field, _words: Sequence[bytes]) -> Fields:
    return []


def _repeated(_draw: st.DrawFn, field: Field, _words: Sequence[bytes]) -> Fields:
    return [field, field]


def _contradicted(draw: st.DrawFn, field: Field, words: Sequence[bytes]) -> Fields:
    return draw(st.permutations([field, (field[0], draw(st.sampled_from(words)))]))


def _accompanied(draw: st.DrawFn, field: Field, words: Sequence[bytes]) -> Fields:
    return [(draw(st.sampled_from(NAMES)), draw(st.sampled_from(words))), field]


def _replaced(draw: st.DrawFn, field: Field, words: Sequence[bytes]) -> Fields:
    return [(field[0], draw(st.sampled_from(words)))]


def _joined(draw: st.DrawFn, field: Field, words: Sequence[bytes]) -> Fields:
    separator = draw(st.sampled_from([b",", b", ", b" ", b"", b"?"]))
    return [(field[0], field[1] + separator + draw(st.sampled_from(words)))]


def _bitten(draw: st.DrawFn, field: Field, _words: Sequence[bytes]) -> Fields:
    """Put up to two bytes in the place of up to one."""
    name, value = field
    position = draw(st.integers(0, len(value)))
    kept = draw(st.integers(0, 1))
    return [(name, value[:position] + draw(st.binary(max_size=2)) + value[position + kept :])]


def _recased(draw: st.DrawFn, field: Field, _words: Sequence[bytes]) -> Fields:
    """Change the case of a name, or of a value's first word."""
    name, value = field
    change = draw(st.sampled_from([bytes.upper, bytes.lower, bytes.swapcase]))
    if draw(st.booleans()):
        return [(change(name), value)]
    word, blank, rest = value.partition(b" ")
    return [(name, change(word) + blank + rest)]


def _renamed(draw: st.DrawFn, field: Field, _words: Sequence[bytes]) -> Fields:
    """Write a name almost as it is written."""
    name, value = field
    return [(name.replace(b"-", draw(st.sampled_from(SEPARATORS))), value)]


def _padded(draw: st.DrawFn, field: Field, _words: Sequence[bytes]) -> Fields:
    name, value = field
    blank = draw(st.sampled_from([b" ", b"   ", b"\t"]))
    word, between, rest = value.partition(b" ")
    places = (blank + value, value + blank, word + between + blank + rest)
    return [(name, draw(st.sampled_from(places)))]


def _detoured(draw: st.DrawFn, field: Field, _words: Sequence[bytes]) -> Fields:
    """Put a segment into a path, or in the place of another one."""
    name, value = field
    segments = value.split(b"/")
    position = draw(st.integers(0, len(segments)))
    here = segments[position : position + draw(st.integers(0, 1))]
    # An empty segment, which is a slash too many, is what most readers overlook.
    new = st.just(b"") | st.sampled_from(SEGMENTS) | st.just(b"".join(here).upper())
    segments[position : position + len(here)] = [draw(new)]
    return [(name, b"/".join(segments))]


def _ended(draw: st.DrawFn, field: Field, _words: Sequence[bytes]) -> Fields:
    return [(field[0], field[1] + draw(st.sampled_from(ENDS)))]


CHANGES: Sequence[Change] = (
    *(_dropped, _repeated, _contradicted, _accompanied, _replaced, _joined),
    *(_bitten, _recased, _renamed, _padded, _detoured, _ended),
)
CHANGES_OF_PATHS: Sequence[Change] = (_detoured, _ended, _bitten)
