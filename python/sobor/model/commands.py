# SPDX-License-Identifier: BSD-3-Clause
"""The commands of `sobor model` and their options. What they do is in the modules beside it."""

from typing import Annotated

import typer

from sobor.options import Group, JsonFile, finite, option

app = typer.Typer(
    cls=Group,
    name="model",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Say by formulas what operations should cost.",
)


@app.command("bcast")
def bcast_command(
    size: Annotated[str | None, option("--bytes", "m.")] = None,
    ring: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="b: the buffers of one rank; else what one rank may own, SOBOR_MEMORY.",
        ),
    ] = None,
    fragment: Annotated[
        str | None, typer.Option(metavar="SIZE", help="f: one buffer; else the best.")
    ] = None,
    slots: Annotated[
        str | None, typer.Option(metavar="N", help="s: buffers of one rank; else b / f.")
    ] = None,
    sets: Annotated[
        str | None, typer.Option(metavar="N", help="q: sets of buffers; else 1.")
    ] = None,
    byte: Annotated[
        str | None,
        typer.Option("--t", metavar="TIME", help="t: reading or writing one byte, such as 0.1ns."),
    ] = None,
    notify: Annotated[
        str | None,
        typer.Option("--tw", metavar="TIME", help="t_W: waiting for a notification."),
    ] = None,
    opening: Annotated[
        str | None,
        typer.Option("--two", metavar="TIME", help="t_WO: waiting for a set to be opened."),
    ] = None,
    release: Annotated[
        str | None,
        typer.Option("--ta", metavar="TIME", help="t_A: one atomic subtraction."),
    ] = None,
    ranks: Annotated[str | None, option("--ranks", "p; else one for each core.")] = None,
    page: Annotated[
        str | None, typer.Option(metavar="SIZE", help="w: a page; else this machine's.")
    ] = None,
    tree: Annotated[
        str | None,
        typer.Option(
            metavar="TREE",
            help="Of notifications: flat, chain, binary, 4-ary, binomial, 4-nomial. t_W and t_WO, "
            "else as given, become those of the tree and p.",
        ),
    ] = None,
    choose: Annotated[
        str | None,
        typer.Option(
            metavar="WAY",
            help="Choose f and s: by the budget --ring, for a known message, for a fixed fragment "
            "or for fixed slots.",
        ),
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="The ring sizes for many f and s.")
    ] = False,
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure t, t_W, t_WO and t_A on this machine.")
    ] = False,
    plot: Annotated[
        str | None,
        option("--plot", "T(f), its saw-tooth for fixed s, and T(s)."),
    ] = None,
    json_file: JsonFile = None,
) -> None:
    """Say what a pipelined broadcast should cost, and which buffers it should have.

    The model is that of the published NUMA-placed broadcast, the algorithm numa-pipelined. Times
    that are not given are those of its paper's example: t 1 ns, t_W 50 ns, t_WO 100 ns, t_A 10 ns.

    **Examples**

        sobor model bcast --bytes 16MiB --ring 4MiB

        sobor model bcast --bytes 1MiB --fragment 8KiB --slots 8 --sets 2 --ranks 8 --json -

        sobor model bcast --choose message --bytes 1MiB

        sobor model bcast --measure --bytes 4MiB --plot model.svg

        sobor model bcast --bytes 1MiB --ranks 16 --tree chain
    """
    from sobor.model.questions import Wanted, model

    values = {
        "--bytes": size,
        "--ring": ring,
        "--fragment": fragment,
        "--slots": slots,
        "--sets": sets,
        "--t": byte,
        "--tw": notify,
        "--two": opening,
        "--ta": release,
        "--ranks": ranks,
        "--page": page,
        "--tree": tree,
    }
    wanted = Wanted(values, choose, table, measure, plot)
    model(wanted, json_file)


@app.command("arrival")
def arrival_command(
    width: Annotated[
        str,
        typer.Option(metavar="TIME", help="k: ranks arrive uniformly within it, such as 500us."),
    ] = "500us",
    size: Annotated[
        str | None,
        option("--bytes", "m, for the time of a transfer."),
    ] = None,
    transfer: Annotated[
        str | None,
        option("--transfer", "Else by --bytes and the machine's network."),
    ] = None,
    nodes: Annotated[int, option("--nodes", min=1)] = 128,
    ranks: Annotated[int, option("--ranks", "As many on each node.", min=1)] = 1024,
    machine: Annotated[
        str,
        option("--machine", "Its network gives t(m) = net_latency + m net_byte."),
    ] = "cluster-128x8",
    plot: Annotated[
        str | None,
        option(
            "--plot", "The impact, times over message sizes, and when a node's first rank comes."
        ),
    ] = None,
    json_file: JsonFile = None,
) -> None:
    """Say what uneven arrival costs a broadcast over nodes.

    For a binomial tree over all ranks (bt), over fixed leaders of nodes (p-bt) and over the first
    rank of each node that comes (cp-bt): the root's expected waiting E(W), the impact gamma =
    E(W) / t(m), and the time.

    **Examples**

        sobor model arrival --width 500us --bytes 40000

        sobor model arrival --width 10us --transfer 1us --nodes 128 --ranks 1024 --json -

        sobor model arrival --bytes 40000 --nodes 16 --ranks 128 --machine cluster-16x8 --plot a.svg
    """
    from sobor.model.arrival_answers import Wanted, arrival

    arrival(Wanted(width, nodes, ranks, size, transfer, machine, plot), json_file)


@app.command("allgather")
def allgather_command(
    latency: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="t_s: a transfer of nothing; 65.8us if not given."),
    ] = None,
    element_time: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="t_w: each element more; 0.437us if not given."),
    ] = None,
    element: Annotated[int, typer.Option(min=1, metavar="BYTES", help="An element.")] = 4,
    ranks: Annotated[str, option("--ranks", "p.", many=True)] = "16",
    elements: Annotated[
        str, typer.Option(metavar="LIST", help="Elements of each rank.")
    ] = "1,10,100,1000,10000",
    switch: Annotated[
        str | None, typer.Option(metavar="LIST", help="star, crossbar; both if not given.")
    ] = None,
    platform: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Take t_s, t_w and switch of sobor platform --json."),
    ] = None,
    study: Annotated[
        bool,
        typer.Option("--study", help="How latency and ranks move the zone where BAGDS wins."),
    ] = False,
    plot: Annotated[
        str | None,
        option("--plot", "Times over elements, and the study."),
    ] = None,
    json_file: JsonFile = None,
) -> None:
    """Say what an all-gather should cost by five methods, and advise.

    Each-with-each, BAGDS, ring, Bruck's and recursive doubling; on a star, where one transfer runs
    at a time, and on a crossbar. Times that are not given are published ones of Fast Ethernet.

    **Examples**

        sobor model allgather --ranks 16 --elements 1,1000

        sobor model allgather --latency 53.8us --element-time 43.7ns --study --plot zones.svg

        sobor model allgather --platform mine.json --ranks 8,12 --switch crossbar --json -
    """
    from sobor.model.allgather_answers import Wanted, allgather

    wanted = Wanted(latency, element_time, element, ranks, elements, switch, platform, study, plot)
    allgather(wanted, json_file)


@app.command("efficiency")
def efficiency_command(
    calls: Annotated[
        str,
        typer.Option(
            metavar="DIR|LIST",
            help="What sobor trace wrote, or calls such as bcast:4Kx1024,barrier:0x10.",
        ),
    ],
    ranks: Annotated[str, option("--ranks", "p.", many=True)] = "1,2,4,8",
    t1: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="T_1, on one rank; else by the other two, or the trace."),
    ] = None,
    operations: Annotated[
        float | None,
        typer.Option(min=1, metavar="N", callback=finite, help="Floating point operations."),
    ] = None,
    flops: Annotated[
        float | None,
        typer.Option(
            min=1, metavar="RATE", callback=finite, help="Of them in a second, of one core."
        ),
    ] = None,
    per_node: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Ranks of a node; as traced if not given, or 1."),
    ] = None,
    machine: Annotated[
        str | None,
        option("--machine", "Its network counts, as sobor platform --write makes."),
    ] = None,
    plot: Annotated[str | None, option("--plot", "Speed-up and efficiency.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Forecast a program at other numbers of ranks, with Sobor and without.

    T = T_1 / p + T_comm, S = T_1 / T, E = S / p. T_comm is what the calls are expected to take on
    that network.

    **Examples**

        sobor model efficiency --calls run1 --machine mine.json --ranks 2,4,8

        sobor model efficiency --operations 2e9 --flops 1e9 --calls bcast:4Kx1024 --ranks 1,2,4
    """
    from sobor.model.efficiency_answers import Wanted, efficiency

    wanted = Wanted(calls, ranks, t1, operations, flops, per_node, machine, plot)
    efficiency(wanted, json_file)
