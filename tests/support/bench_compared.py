"""Sections of the page of measurements that compare: us with LiteLLM, a large world with a small one."""

from collections.abc import Callable, Iterator

from bench_pictures import Figures, Part, bar_picture, line_picture
from bench_plots import Axis, Chart, Series

EDGE = """\
One client asks the same model server straight, through Traefik with the ForwardAuth service, and
through LiteLLM {version}; what a way adds is its percentile less the straight one's, over turns that
alternate. `fast` is a server that answers at once, so that the proxy is what is measured; `real` is
llama.cpp with Gemma 3 270M and eight tokens an answer. LiteLLM has one worker, its master key and no
database: its virtual keys, which are what compares with ours, need a PostgreSQL. Client, server and
proxy share the machine's cores: at 16 and 64 connections most of a latency is the queue, and answers a
second and processor time say more. Where the generator is at its limit, a way may be faster than it
shows. To the fast server Traefik keeps its connections, which is not how it ships: what is compared
there is the proxies' own work, and LiteLLM keeps its connections, too. To the real one it opens one for
each request, as the embedded edge and the bundled one do, because llama.cpp closes its connection
behind every stream and does not announce it. Straight, a request that was already under way on it then
is sent once more, its latency being that of both, and is told as sent again, not as lost. What the edge
lost of streams was cut off by Traefik itself, which closed its connection to a server whose answer had
begun within microseconds of the request's last byte ([streams](../how-to/tune-the-edge.md#streams)).
"""
EDGE_COLUMNS = (
    *("answer", "connections", "LiteLLM / edge: p50 added", "processor time"),
    *("p50 ms added: edge", "LiteLLM", "p99 ms added: edge", "LiteLLM"),
    *("first byte p50 ms: straight", "edge", "LiteLLM"),
    *("answers a second: straight", "edge", "LiteLLM"),
    *("processor ms: edge", "LiteLLM"),
    *("lost of asked: straight", "edge", "LiteLLM", "sent again: straight"),
    *("generator's share of a core: straight", "edge", "LiteLLM"),
)
GROWTH = """\
In one world, {batch} instances more at each size: ordered of the operator, and the same writes issued
directly while it is held still, {rounds} times in turns. Growth is against the first size. Instances
have no replicas; from 2 000 on, 2 000 of them have a key.
"""
GROWTH_COLUMNS = (
    *("instances", "growth of processor time", "growth of operator / direct", "operator / direct"),
    *(
        "ms for one: operator",
        "direct",
        "processor ms",
        "restart s",
        "its writes",
        "longest probe ms",
    ),
    *("operator at rest MB", "% of a core"),
)
REST = """\

### Every part at rest

Memory in MB, and the share of a core, at each number of instances.
"""


NAMED_SIZE = 2000
"""The size for which memory and rest of the operator are promised."""

WANTED_GROWTH = 1.2
WANTED_OPERATOR_MB = 300
WANTED_REST = 0.02

BOUND_SHARE = 0.9
"""From this share of a core on, a generator may be what is measured."""


def share(generator: float) -> str:
    """Return a generator's share of a core, and say where it bounds what was measured."""
    return f"{generator:.2f}, a bound" if generator > BOUND_SHARE else f"{generator:.2f}"


def verdict(reached: dict[str, bool]) -> str:
    """Return a sentence about what is wanted: that all of it is reached, or what is missed."""
    missed = [what for what, is_reached in reached.items() if not is_reached]
    return f"**Missed: {', '.join(missed)}.**" if missed else "All of that is reached."


def head(columns: tuple[str, ...]) -> str:
    """Return the first two lines of a table."""
    return f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|"


def edge(figures: Figures) -> Iterator[Part]:
    """Yield the section of the whole way, beside LiteLLM."""
    yield "## Through the edge, beside LiteLLM\n"
    yield EDGE.format(version=figures["litellm"])
    for server in ("fast", "real"):
        rows = [row for row in figures["rows"] if row["server"] == server]
        if rows:
            yield from _edge_table(server, rows)
    yield from _edge_charts([row for row in figures["rows"] if row["server"] == "fast"])


def _edge_table(server: str, rows: list[Figures]) -> Iterator[Part]:
    yield f"\n### Server `{server}`\n"
    yield head(EDGE_COLUMNS)
    for row in rows:
        ways = [row["ways"][way] for way in ("direct", "edge", "litellm")]
        straight, ours, theirs = ways
        p50 = [way["p50"] - straight["p50"] for way in (ours, theirs)]
        p99 = [way["p99"] - straight["p99"] for way in (ours, theirs)]
        costs = [spent(way) for way in (ours, theirs)]
        cells = (
            *(row["kind"], row["connections"], times(p50), times(costs)),
            *(f"{ms:.1f}" for ms in (*p50, *p99)),
            *(f"{way['first_p50']:.1f}" for way in ways),
            *(f"{way['per_second']:.0f}" for way in ways),
            *(f"{ms:.2f}" for ms in costs),
            *(f"{way['errors']} of {way['errors'] + way['requests']}" for way in ways),
            straight["stale"],
            *(share(way["generator"]) for way in ways),
        )
        yield f"| {' | '.join(map(str, cells))} |"


def times(ours_and_theirs: list[float]) -> str:
    """Return how many times as much the second is as the first; nothing where that says nothing."""
    ours, theirs = ours_and_theirs
    return f"{theirs / ours:.0f}" if ours > 0 else ""


def spent(way: Figures) -> float:
    """Return the milliseconds of processor time that a way spends on a request, all its parts together."""
    return float(sum(way["cpu"].values()))


def _edge_charts(rows: list[Figures]) -> Iterator[Part]:
    titles = {"answer": ("a whole answer", "whole answers"), "stream": ("a stream", "streams")}
    for kind, (one, title) in titles.items():
        chosen = [row for row in rows if row["kind"] == kind]
        if chosen:
            yield _edge_chart(
                f"edge-{kind}-rate",
                f"A server that answers at once: {title} a second",
                f"{title} a second",
                chosen,
                lambda way: float(way["per_second"]),
            )
            yield _edge_chart(
                f"edge-{kind}-first",
                f"Time to the first byte of {one}, median",
                "milliseconds",
                chosen,
                lambda way: float(way["first_p50"]),
            )
            yield _edge_chart(
                f"edge-{kind}-cost",
                f"Processor time for {one}",
                "milliseconds",
                chosen,
                spent,
            )


def _edge_chart(
    name: str, title: str, unit: str, rows: list[Figures], of: Callable[[Figures], float]
) -> Part:
    """Return bars of a figure of both ways, by the number of connections."""
    names = {"edge": "Traefik and our check", "litellm": "LiteLLM"}
    series = (
        Series(told, tuple(of(row["ways"][way]) for row in rows)) for way, told in names.items()
    )
    steps = tuple(f"{row['connections']}" for row in rows)
    axis = Axis(unit, log=True)
    return bar_picture(name, Chart(title, Axis("connections"), axis, steps, tuple(series)))


def growth(figures: Figures) -> Iterator[Part]:
    """Yield the section of a world that grows."""
    sizes, first = figures["sizes"], figures["sizes"][0]
    yield "## One more instance in a growing world\n"
    yield GROWTH.format(batch=figures["batch"], rounds=figures["rounds"])
    yield head(GROWTH_COLUMNS)
    for size in sizes:
        ours = size["rest"]["operator"]
        yield (
            f"| {size['instances']} | {size['cpu_ms'] / first['cpu_ms']:.2f} "
            f"| {size['ratio'] / first['ratio']:.2f} | {size['ratio']:.2f} | {size['operator_ms']:.1f} "
            f"| {size['direct_ms']:.1f} | {size['cpu_ms']:.1f} | {size['restart_seconds']:.1f} "
            f"| {size['restart_writes']} | {size['restart_probe_ms']:.0f} "
            f"| {ours['memory_mb']:.0f} | {100 * ours['cpu_share']:.2f} |"
        )
    named = [size["rest"]["operator"] for size in sizes if size["instances"] == NAMED_SIZE]
    reached = {
        "growth": sizes[-1]["cpu_ms"] <= WANTED_GROWTH * first["cpu_ms"],
        "memory": all(rest["memory_mb"] < WANTED_OPERATOR_MB for rest in named),
        "rest": all(rest["cpu_share"] < WANTED_REST for rest in named),
    }
    yield (
        "\nWanted: growth of processor time at most 1.2; at 2 000 instances under 300 MB and under 2 % of "
        f"a core. {verdict(reached)}"
    )
    yield from _growth_charts(sizes)
    yield from _rest_table(sizes)


def _growth_charts(sizes: list[Figures]) -> Iterator[Part]:
    steps = tuple(size["instances"] for size in sizes)

    def series(name: str, column: str) -> Series:
        return Series(name, tuple(size[column] for size in sizes))

    x = Axis("instances", log=True)
    yield line_picture(
        "growth-one-more",
        Chart(
            "One more instance",
            x,
            Axis("milliseconds"),
            steps,
            (
                series("operator", "operator_ms"),
                series("direct writes", "direct_ms"),
                series("the operator's processor time", "cpu_ms"),
            ),
        ),
    )
    memory = tuple(size["rest"]["operator"]["memory_mb"] for size in sizes)
    yield line_picture(
        "growth-memory",
        Chart(
            "Memory of the operator at rest",
            x,
            Axis("MB"),
            steps,
            (Series("operator", memory),),
            wanted=300,
        ),
    )


def _rest_table(sizes: list[Figures]) -> Iterator[Part]:
    """Yield what every part is at rest: memory and share of a core."""
    yield REST
    yield head(("part", *(str(size["instances"]) for size in sizes)))
    for part in sizes[0]["rest"]:
        rests = [size["rest"][part] for size in sizes]
        cells = (f"{rest['memory_mb']:.0f}, {100 * rest['cpu_share']:.2f} %" for rest in rests)
        yield f"| {part} | {' | '.join(cells)} |"
