# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `sobor`: commands and options. What they do is in the modules beside it."""

from typing import Annotated

import typer

from sobor import completion
from sobor.errors import SoborError
from sobor.model.commands import app as model_app
from sobor.options import Group, JsonFile, Launch, Settings, Show, option
from sobor.profile.commands import add as add_profiles
from sobor.version import __version__

app = typer.Typer(
    cls=Group,
    name="sobor",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(model_app, name="model")

#: Of sobor bench.
_VARIANTS, _BUFFERS = "hot,cold", "malloc"


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"sobor {__version__}")
        raise typer.Exit()


@app.callback()
def sobor(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_show_version, help="Show the version and leave."
        ),
    ] = False,
) -> None:
    """Faster collective operations for unmodified MPI programs.

    Put **sobor run --** before the command that starts your program:

        sobor run -- mpirun -n 64 ./app

    **sobor doctor** tells whether it will work here, **sobor bench** what it
    gains, **sobor info** what it would do and why.
    """


@app.command("run", context_settings={"allow_interspersed_args": False})
def run_command(
    command: Launch,
    settings: Settings = None,
    heap: Annotated[
        bool,
        typer.Option(
            "--heap",
            help="Have the ranks share the long blocks of malloc, so that they read them by loads.",
        ),
    ] = False,
    show: Show = False,
    json_file: Annotated[
        str | None, option("--json", "It is argv, and env to add; nothing is run.")
    ] = None,
) -> None:
    """Run a program with Sobor.

    The preload and all SOBOR_* variables reach the ranks the way the launcher wants it: Open MPI's
    mpirun by -x, MPICH's and Intel MPI's mpiexec by -genv, srun and a program without a launcher
    by the environment. Your own LD_PRELOAD is kept, and Sobor stands after it, but for what
    --heap adds: that stands first. The launcher takes the place of this process: signals and the
    exit status are its own.

    **Examples**

        sobor run -- mpirun -n 4 ./app input.dat

        sobor run --set VERBOSE=1 -- mpiexec -n 2 ./app : -n 2 ./other

        sobor run --heap -- srun -n 64 ./app
    """
    from sobor.run import run

    wanted = ["HEAP=on"] if heap else []
    run(command, [*(settings or []), *wanted], show, json_file)


@app.command("trace", context_settings={"allow_interspersed_args": False})
def trace_command(
    command: Launch,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="DIR", help="Where the ranks write their files."),
    ] = "sobor-trace",
    settings: Settings = None,
    show: Show = False,
) -> None:
    """Run a program as **sobor run** does, and record its collective calls.

    Each rank notes when it entered and left each call, whether Sobor served it or the host MPI,
    and writes that at its end into one file of the folder. With --set SOBOR=off the host MPI is
    traced alone.

    **Examples**

        sobor trace -o run1 -- mpirun -n 64 ./app

        sobor report run1 --html run1.html
    """
    from sobor.trace.run import trace

    trace(command, output, settings or [], show)


@app.command("report")
def report_command(
    trace: Annotated[
        str,
        typer.Argument(
            metavar="DIR|FILE",
            help="What sobor trace wrote: all ranks, or one; or FILE.json of sobor profile or "
            "estimate, of which FILE.html is made.",
        ),
    ],
    collective: Annotated[
        str | None, option("--collective", "Its calls alone are looked at.")
    ] = None,
    transfer: Annotated[
        str | None,
        option("--transfer", "For the unbalance degree; else estimated from the trace."),
    ] = None,
    html: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the report as a page with a timeline.")
    ] = None,
    json_file: JsonFile = None,
    events: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write all calls in the Trace Event format of viewers."),
    ] = None,
    arrival: Annotated[
        str | None,
        typer.Option(
            "--write-arrival",
            metavar="FILE",
            help="Write how late each rank came to each call, for sobor simulate --arrival "
            "trace:FILE.",
        ),
    ] = None,
    machine: Annotated[
        str | None,
        option(
            "--machine",
            "Simulates on it what broadcasts over several hosts would have cost otherwise, with "
            "these arrivals.",
        ),
    ] = None,
) -> None:
    """Tell where the time of a traced or profiled job went, and who was waited for.

    Shares of run time by operation, size and communicator; waiting for the last rank against moving
    data; widths of arrival by call site; how late each rank comes and how often it is the last;
    unbalance degree and impact.

    **Examples**

        sobor report run1

        sobor report run1 --html run1.html --events run1.json

        sobor report run1 --collective bcast --write-arrival widths.txt

        sobor report run1 --machine cluster-16x8

        sobor report profile.json
    """
    from sobor.profile.report import is_json

    if is_json(trace):
        from sobor.profile.report import report

        others = {"--collective": collective, "--transfer": transfer, "--events": events}
        others |= {"--write-arrival": arrival, "--machine": machine}
        report(trace, html, json_file, others)
        return

    from sobor.trace.load import load

    module = load()
    wanted = module.Wanted(trace, collective, transfer, html, json_file, events, arrival, machine)
    module.report(wanted)


@app.command("doctor")
def doctor_command(
    launchers: Annotated[
        list[str] | None,
        typer.Option(
            "--launcher",
            metavar="PATH",
            help="Look at this launcher too, beside those on the PATH. Repeatable.",
        ),
    ] = None,
    attempt: Annotated[
        bool,
        typer.Option("--try", help="Start a small job with two ranks under each MPI as well."),
    ] = False,
    short: Annotated[bool, option("--short", "The verdict, and what is not in order.")] = False,
    json_file: JsonFile = None,
) -> None:
    """Tell whether Sobor will work on this machine, and what to do where it will not.

    Looks at the MPIs, the back ends, shared memory and its limits, single copy, control groups,
    cores, bindings, NUMA nodes and files left behind. The exit status is 0 when Sobor will work
    with at least one MPI here, else 1.
    """
    from sobor.doctor.report import doctor

    raise typer.Exit(doctor(launchers or [], attempt, short, json_file))


@app.command("info")
def info_command(
    variables: Annotated[
        bool, typer.Option("--variables", help="All variables: value, default, documentation.")
    ] = False,
    algorithms: Annotated[
        bool, typer.Option("--algorithms", help="All algorithms, with what each does.")
    ] = False,
    prices: Annotated[
        bool, typer.Option("--prices", help="What the choice of algorithms takes steps to cost.")
    ] = False,
    groups: Annotated[
        bool,
        typer.Option("--groups", help="How --ranks ranks are grouped by the machine's levels."),
    ] = False,
    placement: Annotated[
        bool, typer.Option("--placement", help="Place shared memory for ranks and check its nodes.")
    ] = False,
    collective: Annotated[
        str | None,
        option("--collective", "Its algorithm is told, and the reason."),
    ] = None,
    size: Annotated[
        str | None,
        option("--bytes", "Of the operation."),
    ] = None,
    ranks: Annotated[
        int | None,
        option("--ranks", "On the node, or on --nodes.", min=1),
    ] = None,
    nodes: Annotated[
        int | None,
        option("--nodes", "Of sizes, with prices.", min=2),
    ] = None,
    oversubscribed: Annotated[
        bool | None,
        typer.Option(
            "--oversubscribed/--not-oversubscribed",
            help="Whether ranks outnumber cores; else it follows from this machine.",
        ),
    ] = None,
    mapping: Annotated[
        str | None,
        option("--map", "core, numa, socket or none; with --nodes core or node."),
    ] = None,
    machine: Annotated[
        str | None,
        option(
            "--machine",
            "Also an hwloc XML file, or text such as 'pack:2 numa:4 core:8 pu:1'. This one if not "
            "given.",
        ),
    ] = None,
    dot: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the groups in Graphviz' language.")
    ] = None,
    svg: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a picture of the groups.")
    ] = None,
    json_file: JsonFile = None,
) -> None:
    """Explain what Sobor is here, and what it would do and why.

    Without options: version, back ends, the machine as Sobor sees it, and the variables that are
    set.

    **Examples**

        sobor info --collective bcast --bytes 4096 --ranks 8

        sobor info --collective allreduce --nodes 16 --ranks 128 --machine cluster-16x8

        sobor info --groups --ranks 14 --map numa --machine kunpeng920-2s

        sobor info --variables
    """
    from sobor.info.questions import Wanted, info

    wanted = Wanted(
        variables=variables,
        algorithms=algorithms,
        prices=prices,
        placement=placement,
        groups=groups,
        collective=collective,
        size=size,
        ranks=ranks,
        nodes=nodes,
        oversubscribed=oversubscribed,
        mapping=mapping,
        machine=machine,
        dot=dot,
        svg=svg,
    )
    info(wanted, json_file)


@app.command("tune")
def tune_command(
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure prices for about half a second; else three.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Then time the operations that move data against the launcher's MPI too, for some "
            "minutes, and keep where that is faster.",
        ),
    ] = False,
    launcher: Annotated[
        str | None,
        option(
            "--launcher",
            "Where it gives several nodes, measure the platform too and keep their network. With "
            "--full mpirun if not given, and no number of ranks in it.",
        ),
    ] = None,
    ranks: Annotated[
        str | None,
        option("--ranks", "With --full; if not given, those that prices are kept for.", many=True),
    ] = None,
    libmpi: Annotated[str | None, option("--libmpi")] = None,
    json_file: JsonFile = None,
) -> None:
    """Measure what passing lines, bytes and processors costs here, and keep it for later jobs.

    Writes sobor/prices in the user's cache folder: entries for 2, 4, 8, ... ranks and for one on
    each core. Jobs find it there and choose algorithms by it. Without it the first job of each
    number of ranks measures for some milliseconds. Other work on the machine disturbs it.

    --full adds rules for one MPI: calls of these sizes go to it. Jobs try now and then whether that
    still holds. There are none for reductions, whose order of combination never follows from what
    was measured: sobor bench --write-tuning writes a file of rules for these, which you name.

    **Examples**

        sobor tune && sobor info --prices

        sobor tune --full --launcher mpirun.openmpi --ranks 2,8

        sobor tune --launcher 'srun -N 4 -n 64'
    """
    from sobor.tune import Wanted, tune

    tune(Wanted(quick, full, launcher, ranks, libmpi), json_file)


@app.command("platform", context_settings={"allow_interspersed_args": False})
def platform_command(
    command: Annotated[
        list[str],
        typer.Argument(metavar="LAUNCHER", help="The launcher with its options, no program."),
    ],
    seconds: Annotated[
        float, option("--seconds", "For each row of samples.", min=0.001, max=60)
    ] = 0.05,
    longest: Annotated[
        str, option("--bytes", "The longest block of calls of all nodes: 1K to 1M.")
    ] = "1M",
    libmpi: Annotated[str | None, option("--libmpi")] = None,
    write: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.json",
            help="Write a machine file: this node calibrated, and the network of the job.",
        ),
    ] = None,
    plot: Annotated[str | None, option("--plot", "Transfers, spreads, forecasts.")] = None,
    json_file: JsonFile = None,
    timeout: Annotated[float, option("--timeout", min=1)] = 600,
) -> None:
    """Measure what the processors and the network of a job do.

    FLOPS; latency and time of an element by least squares and by two points; bandwidth, lanes and
    eager limit; whether the switch is a star or a crossbar; how precisely MPI_Barrier ends. The
    file that --write makes is for sobor simulate --machine and for SOBOR_NETWORK. Eight nodes
    that share 100 Mbit/s take minutes, with --bytes 64K one.

    **Examples**

        sobor platform -- mpirun -n 64

        sobor platform --json platform.json --write mine.json -- srun -N 4 -n 64
    """
    from sobor.platform.run import Wanted, platform
    from sobor.sizes import parse_size

    platform(
        Wanted(command, seconds, libmpi, write, plot, timeout, parse_size(longest, "--bytes")),
        json_file,
    )


@app.command("bench")
def bench_command(
    collectives: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTIVES",
            autocompletion=completion.collectives,
            help="What to measure, separated by commas; passthrough is the cost of a call that "
            "goes to the host.",
        ),
    ] = "barrier,bcast,allreduce",
    ranks: Annotated[
        str | None,
        option(
            "--ranks", "If not given, powers of two up to all cores, and to 4 at least.", many=True
        ),
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(metavar="LIST", help="Message sizes; 8,1K,64K,1M if not given.")
    ] = None,
    launcher: Annotated[
        str,
        option("--launcher"),
    ] = "mpirun",
    json_file: JsonFile = None,
    plot: Annotated[str | None, option("--plot", "Times over sizes, host and Sobor.")] = None,
    tuning_file: Annotated[
        str | None,
        typer.Option(
            "--write-tuning",
            metavar="FILE",
            help="Write a tuning file: by size, the fastest of what was measured, the host "
            "included. Measure several with --algorithms, auto among them.",
        ),
    ] = None,
    variants: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="hot: the same buffer again; cold: rotating over a large range; chain: an "
            "unbroken row of calls in which the root goes round, mean time of a call; by --method "
            "sobor only.",
        ),
    ] = _VARIANTS,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="How calls are timed. sobor: one by one after a barrier, the slowest rank counts; "
            "barriers in rows. single: one by one after a barrier, mean over the ranks. row: in an "
            "unbroken row from one root. window: all begin at an agreed time. sobor if not given.",
        ),
    ] = None,
    sync: Annotated[
        str | None,
        typer.Option(
            metavar="own|common",
            help="What comes before each call of --method sobor and single: each side's own "
            "barrier, or Sobor's for both. A barrier that lets the root go first hides part of the "
            "call after it. If not given: common, and of single both, one after the other.",
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Say how much of each time is skew: how far apart ranks began after the barrier, "
            "and what that hides. By --method single if none is given.",
        ),
    ] = False,
    limits: Annotated[
        bool,
        typer.Option(
            "--limits",
            help="Time two ranks beside the best simple loops of two processes over a shared "
            "segment too, with ordinary and with non-temporal stores: barrier, bcast, gather, "
            "scatter, allgather, alltoall, reduce, allreduce.",
        ),
    ] = False,
    counts: Annotated[
        str,
        option("--counts", "--sizes are their means."),
    ] = "equal",
    buffers: Annotated[
        str,
        typer.Option(
            metavar="malloc|aligned",
            help="Where buffers begin: 16 bytes behind a page, as large blocks of malloc do, or on "
            "a page.",
        ),
    ] = _BUFFERS,
    peers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CMD,CMD",
            help="Measure under these launchers too, in turn with the first. Write a comma inside "
            "a command as \\\\,. By name: release_gather (MPICH), sm, xhc, acoll (Open MPI) are "
            "collectives that a library has and does not use by itself; NAME@CMD says under which "
            "launcher. Repeatable.",
        ),
    ] = None,
    algorithms: Annotated[
        str | None,
        typer.Option(
            "--algorithms",
            metavar="LIST",
            help="Force algorithms, one after the other: barrier:tree,bcast:ring,bcast:auto. "
            "If one operation is measured, their names will do. "
            "An operation without any is measured as Sobor chooses.",
            autocompletion=completion.forced,
        ),
    ] = None,
    seconds: Annotated[
        float,
        option("--seconds", "For each side of each point, over all rounds.", min=0.001, max=3600),
    ] = 0.5,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How often to go round; the median counts. Default 1, with peers 3.",
        ),
    ] = None,
    seed: Annotated[int, option("--seed", "It is the data.", min=0)] = 1,
    host_only: Annotated[
        bool, typer.Option("--host-only", help="Time the hosts alone, without Sobor.")
    ] = False,
    libmpi: Annotated[
        str | None,
        option("--libmpi"),
    ] = None,
    timeout: Annotated[
        float | None,
        option("--timeout", min=1),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="An experiment with one collective, of which some were published: of bcast slots, "
            "fragment, tree, placement, root-shift; of scatterv, gatherv, allgatherv slots, "
            "fragment, sets, counts; of allreduce, reduce window, order; of all algorithms, "
            "arrival.",
        ),
    ] = None,
    widths: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="With --study arrival: ranks come within these times; 0us,100us,500us,2ms if not "
            "given.",
        ),
    ] = None,
    nodes: Annotated[
        int | None,
        option("--nodes", "With --study arrival --machine; all it has if not given.", min=1),
    ] = None,
    machine: Annotated[
        str | None,
        option("--machine", "The study runs on it, in the simulator."),
    ] = None,
    out: Annotated[
        str | None,
        option("--out", "With --study."),
    ] = None,
) -> None:
    """Time the host MPI and Sobor side by side.

    Both are called in the same job, in alternating blocks. If no --method is given, the ranks meet
    in Sobor's barrier before each call and the buffers are written anew; a call's time is that of
    its slowest rank; shown is the median, with the 10th and 90th percentile of the ratio. In a
    separate pass the data of every call is checked.

    The ratio is host time divided by Sobor time: above 1 Sobor is faster.

    **Examples**

        sobor bench

        sobor bench bcast --ranks 2,4 --sizes 8,4K,1M --json result.json

        sobor bench --launcher mpirun.openmpi --peers mpirun.mpich,/opt/mpi/bin/mpirun

        sobor bench allreduce --peers mpirun.mpich,release_gather,xhc@/opt/ompi/bin/mpirun

        sobor bench allgather --method sobor,single,row,window --ranks 2

        sobor bench bcast --explain --ranks 4 --sizes 8

        sobor bench allreduce,alltoall --limits --ranks 2 --sizes 16K,64K,1M

        sobor bench barrier --algorithms barrier:auto,barrier:tree

        sobor bench bcast --algorithms bcast:auto,bcast:ring,bcast:tree --write-tuning tuning.json

        sobor bench scatterv,gatherv --counts heavy --ranks 8

        sobor bench bcast --study slots --machine xeon-e5-2620v4-2s --out results

        sobor bench scatterv --study algorithms --machine xeon-e5-2620v4-2s --ranks 16

        sobor bench bcast --study arrival --machine cluster-16x8 --widths 0us,500us --sizes 40000
    """
    from sobor.bench.measure import Outputs, bench
    from sobor.bench.request import make_request, usual_ranks
    from sobor.native import find_native
    from sobor.system.cpus import read_cpus
    from sobor.system.files import Files

    native = find_native()
    if study is not None:
        from sobor.bench.study import Wanted, run_study

        others = {"--write-tuning": tuning_file, "--plot": plot, "--method": method, "--sync": sync}
        others |= {"--explain": explain, "--limits": limits, "--host-only": host_only}
        others |= {"--peers": peers, "--rounds": rounds}
        others |= {"--variants": variants != _VARIANTS, "--buffers": buffers != _BUFFERS}
        for name, value in others.items():
            if value:
                raise SoborError(f"{name} does not go with --study")
        wanted = Wanted(
            name=study, collectives=collectives, machine=machine, ranks=ranks, sizes=sizes,
            launcher=launcher, libmpi=libmpi, seconds=seconds, seed=seed, timeout=timeout,
            counts=counts, out=out or ".", json_file=json_file, widths=widths, nodes=nodes,
            algorithms=algorithms,
        )  # fmt: skip
        raise typer.Exit(run_study(wanted, native))
    studies = {"--machine": machine, "--out": out, "--widths": widths, "--nodes": nodes}
    for name, value in studies.items():
        if value is not None:
            raise SoborError(f"{name} goes with --study")
    request = make_request(
        native,
        collectives=collectives,
        ranks=ranks or usual_ranks(read_cpus(Files()).usable),
        sizes=sizes or "8,1K,64K,1M",
        variants=variants,
        launcher=launcher,
        peers=peers or [],
        algorithms=algorithms,
        seconds=seconds,
        seed=seed,
        rounds=rounds,
        host_only=host_only,
        sync=sync,
        method=method,
        explain=explain,
        limits=limits,
        counts=counts,
        buffers=buffers,
        libmpi=libmpi,
        timeout=timeout,
    )
    raise typer.Exit(bench(request, native, Outputs(json_file, tuning_file, plot)))


@app.command("study")
def study_command(
    paper: Annotated[
        str | None,
        typer.Argument(metavar="PAPER", help="See --list.", autocompletion=completion.papers),
    ] = None,
    figure: Annotated[
        str | None, typer.Argument(metavar="FIGURE", help="A number, or the name of a table.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME=VALUE",
            help="Change a setting; --list PAPER FIGURE shows them, with what was published as "
            "defaults. Repeatable.",
        ),
    ] = None,
    curves: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="As --with curves=LIST, where there is that setting."),
    ] = None,
    short: Annotated[bool, option("--short", "A few points in a second or two.")] = False,
    out: Annotated[str, option("--out")] = ".",
    json_file: Annotated[
        str | None,
        option("--json", "Rows of paper, figure, series, x, ours, published."),
    ] = None,
    listing: Annotated[
        bool,
        option("--list", "Papers and figures; of one of them also the settings."),
    ] = False,
) -> None:
    """Repeat an experiment of a paper, with the published values beside ours.

    Settings are those that were published. Times are simulated on the paper's machine, or taken
    here with --with machine=here.

    **Examples**

        sobor study --list

        sobor study barrier 6

        sobor study barrier 4 --with ranks=32 --with runs=1 --json -

        sobor study --list barrier 6

        sobor study application asp --curves host,p,cp
    """
    from sobor.native import find_native
    from sobor.study.command import Wanted, study

    given = [*(changes or ()), *([f"curves={curves}"] if curves is not None else [])]
    wanted = Wanted(paper, figure, tuple(given), short, listing, out, json_file)
    raise typer.Exit(study(wanted, find_native()))


@app.command("simulate")
def simulate_command(
    collective: Annotated[
        str | None,
        typer.Argument(
            metavar="COLLECTIVE",
            help="barrier, bcast, scatterv, ...",
            autocompletion=completion.collectives,
        ),
    ] = None,
    machine: Annotated[
        str | None,
        option("--machine"),
    ] = None,
    nodes: Annotated[int, option("--nodes", min=1)] = 1,
    ranks: Annotated[
        str | None,
        option("--ranks", "One for each core of the nodes if not given.", many=True),
    ] = None,
    maps: Annotated[
        str,
        option("--map", "core, node (round the nodes), numa, socket.", many=True),
    ] = "core",
    algorithms: Annotated[
        str | None,
        typer.Option(
            "--algorithm",
            metavar="LIST",
            help="Algorithms by name, or all; what Sobor would choose if not given. Over several "
            "nodes also flat ones of hosts: host-binomial, host-rabenseifner, ...",
            autocompletion=completion.algorithms,
        ),
    ] = None,
    sizes: Annotated[str | None, option("--bytes", many=True)] = None,
    root: Annotated[
        str | None, typer.Option(metavar="RANK|rotate", help="The root of a broadcast.")
    ] = None,
    calls: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Calls in a row. Default 100; 3 with --timeline, a check, or from 256 ranks on.",
        ),
    ] = None,
    warmup: Annotated[
        int | None, typer.Option(min=0, help="Calls before those that count.")
    ] = None,
    seed: Annotated[int, option("--seed", "The same one gives the same output.", min=0)] = 1,
    arrival: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="How late ranks come: none, uniform:500us, normal:..., exponential:..., "
            "straggler:..., trace:FILE.",
        ),
    ] = None,
    counts: Annotated[
        str | None,
        option("--counts", "--bytes is their mean."),
    ] = None,
    sync: Annotated[
        str | None,
        typer.Option(
            metavar="none|barrier|chain",
            help="Before each call all ranks are there at once (none), or come out of a barrier "
            "and read the clock, as under sobor bench; chain: calls follow one another, as "
            "barriers do there.",
        ),
    ] = None,
    noise: Annotated[
        bool | None, typer.Option("--noise/--no-noise", help="Stalls by the operating system.")
    ] = None,
    cold: Annotated[
        bool | None, typer.Option("--cold/--hot", help="User buffers that no cache holds.")
    ] = None,
    placement: Annotated[
        bool | None,
        typer.Option(
            "--placement/--no-placement", help="Memory on the node of the rank that owns it."
        ),
    ] = None,
    settings: Settings = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Look for races, deadlocks, lost wake-ups and wrong data."),
    ] = False,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="How interleavings are explored: random, pct or exhaustive; timed follows the "
            "clock. With --check random.",
        ),
    ] = None,
    schedules: Annotated[
        int | None,
        typer.Option(min=1, help="How many interleavings are tried. Default 1000."),
    ] = None,
    relaxed: Annotated[
        bool,
        typer.Option("--relaxed", help="Let stores come late, as far as C11 allows."),
    ] = False,
    replay: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Run again the schedule that a fault's report gives."),
    ] = None,
    histogram: Annotated[
        str | None,
        typer.Option(metavar="lines", help="Count the transfers of cache lines by distance."),
    ] = None,
    timeline: Annotated[
        str | None, typer.Option(metavar="FILE.svg", help="Draw what each rank did when.")
    ] = None,
    json_file: JsonFile = None,
    listing: Annotated[
        bool,
        option("--list", "Machines; with a name after it, the numbers of that one."),
    ] = False,
    calibrate: Annotated[
        str | None,
        typer.Option(metavar="FILE.json", help="Measure this machine and write a machine file."),
    ] = None,
    seconds: Annotated[
        float,
        option("--seconds", "With --calibrate, about.", min=0.1, max=3600),
    ] = 20,
) -> None:
    """Run collectives on a simulated machine.

    The algorithms are those of the library, compiled for a machine that a file describes: caches
    and NUMA nodes, what a cache line costs to move, what memory and links carry. Times are of that
    model; docs/simulator.md tells when not to believe them.

    **Examples**

        sobor simulate --list

        sobor simulate barrier --machine kunpeng920-2s --algorithm all --map core,numa,socket

        sobor simulate bcast --machine epyc9654-2s --bytes 64K,4M --arrival uniform:500us

        sobor simulate bcast --machine xeon-e5620-2s --ranks 3 --bytes 64 --check --schedules 10000

        sobor simulate allreduce --machine cluster-128x8 --nodes 128 --ranks 1024 --map node,core

        sobor simulate --calibrate mine.json
    """
    from sobor.native import find_native
    from sobor.simulate.calibrate import calibrate as calibrate_machine
    from sobor.simulate.listing import list_machines
    from sobor.simulate.request import Options
    from sobor.simulate.run import simulate

    if listing:
        list_machines(collective or machine, json_file)
        return
    if calibrate is not None:
        raise typer.Exit(calibrate_machine(find_native(), calibrate, seconds))
    options = Options(
        collective=collective,
        machine=machine,
        nodes=nodes,
        ranks=ranks,
        maps=maps,
        algorithms=algorithms,
        sizes=sizes,
        root=root,
        calls=calls,
        warmup=warmup,
        seed=seed,
        arrival=arrival,
        sync=sync,
        counts=counts,
        noise=noise,
        cold=cold,
        placement=placement,
        settings=tuple(settings or ()),
        check=check,
        mode=mode,
        schedules=schedules,
        relaxed=relaxed,
        replay=replay,
        histogram=histogram,
        timeline=timeline,
        json_file=json_file,
    )
    raise typer.Exit(simulate(options, find_native()))


add_profiles(app)
