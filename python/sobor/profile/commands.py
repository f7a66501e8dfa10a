# SPDX-License-Identifier: BSD-3-Clause
"""The commands about profiles: sobor profile and sobor estimate."""

from typing import Annotated

import typer

from sobor.options import JsonFile, Launch, Settings, Show, option


def profile_command(
    command: Launch,
    compare: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="ROUNDS", help="Run it so often with the host alone and with Sobor."
        ),
    ] = None,
    settings: Settings = None,
    show: Show = False,
    json_file: JsonFile = None,
) -> None:
    """Run a program and say where its communication time goes.

    Time in collectives by operation, size and communicator, served by Sobor or by the host MPI,
    with the waiting for the last rank apart; and how often the program makes its other calls. With
    --set SOBOR=off the host MPI is profiled alone. --compare tells what Sobor gains, with an
    interval.

    **Examples**

        sobor profile -- mpirun -n 64 ./app

        sobor profile --compare 5 --json gain.json -- mpirun -n 64 ./app

        sobor profile --set SOBOR=off --json host.json -- mpirun -n 64 ./app
    """
    from sobor.profile.run import Wanted, profile

    raise typer.Exit(profile(Wanted(command, settings or [], json_file, compare, show)))


def estimate_command(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What sobor profile --json wrote of the host.")
    ],
    launcher: Annotated[str, option("--launcher")] = "mpirun",
    seconds: Annotated[
        float, option("--seconds", "For each side of each point.", min=0.01, max=600)
    ] = 0.2,
    json_file: JsonFile = None,
) -> None:
    """Say what Sobor would gain, by a profile of the host and what is measured here.

    Times the operations and sizes that take most of the profile's time, the host MPI and Sobor side
    by side, and what Sobor sets up in the first calls of each kind of communicator. Waiting for the
    last rank stays as it is.

    **Example**

        sobor estimate host.json
    """
    from sobor.profile.estimate import estimate

    raise typer.Exit(estimate(file, launcher, seconds, json_file))


def add(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("profile", context_settings={"allow_interspersed_args": False})(profile_command)
    app.command("estimate")(estimate_command)
