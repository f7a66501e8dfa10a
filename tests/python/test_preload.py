# SPDX-License-Identifier: BSD-3-Clause
"""The command built for each kind of launcher, and the traps of each."""

import os
import shlex

import pytest

from conftest import write_program
from sobor.errors import SoborError
from sobor.launchers import Forward, plan_launch

LIBRARY = "/opt/sobor/lib/sobor/libsobor.so"


@pytest.fixture
def plan(make_launcher):
    """Plans a command line: plan("mpirun -n 2 app", banner="openmpi4", ...)."""

    def run(line, banner="unknown", name=None, environ=None, present=None, chosen=None):
        words = shlex.split(line)
        if name is None and banner != "unknown":
            name = words[0]
        if name:
            make_launcher(name, banner)
        environ = {**os.environ, **(environ or {}), **(present or {})}
        return plan_launch(words, Forward(LIBRARY, present or {}, chosen or {}, environ))

    return run


# --- Open MPI ---------------------------------------------------------------------------------


def test_openmpi(plan):
    launch = plan("mpirun -n 2 app -n 3", "openmpi4", present={"SOBOR_VERBOSE": "1"})
    assert shlex.join(launch.argv) == (
        f"mpirun -x SOBOR_VERBOSE=1 -x LD_PRELOAD={LIBRARY} -n 2 app -n 3"
    )
    assert launch.env == {}
    assert launch.programs == ["app"]


def test_openmpi_mpmd_is_given_to_every_program(plan):
    launch = plan("mpirun -n 1 a : -n 1 b", "openmpi4", chosen={"SOBOR_RING": "1MiB"})
    x = f"-x LD_PRELOAD={LIBRARY} -x SOBOR_RING=1MiB"
    assert shlex.join(launch.argv) == f"mpirun {x} -n 1 a : {x} -n 1 b"
    assert launch.programs == ["a", "b"]


def test_openmpi_5_reaches_spawned_processes_by_the_environment(plan):
    launch = plan("mpirun -n 2 app", "openmpi5", chosen={"SOBOR_RING": "1MiB"})
    assert launch.env == {"LD_PRELOAD": LIBRARY, "SOBOR_RING": "1MiB"}
    assert f"LD_PRELOAD={LIBRARY}" in launch.argv


@pytest.mark.parametrize(
    ("option", "environ"),
    [
        ("-x LD_PRELOAD=/a.so:/b.so", {}),
        ("-x LD_PRELOAD", {"LD_PRELOAD": "/a.so /b.so"}),
        ("", {"LD_PRELOAD": "/a.so:/b.so"}),
        (f"-x LD_PRELOAD={LIBRARY}:/a.so:/b.so", {"LD_PRELOAD": "/other.so"}),
    ],
)
def test_openmpi_keeps_the_users_preload_before_ours(plan, option, environ):
    launch = plan(f"mpirun {option} -n 2 app", "openmpi4", environ=environ)
    given = [word for word in launch.argv if word.startswith("LD_PRELOAD")]
    assert given == [f"LD_PRELOAD=/a.so:/b.so:{LIBRARY}"]


@pytest.mark.parametrize("heap", ["/opt/sobor/lib/sobor/libsobor-heap.so", None])
def test_one_heap_of_whatever_installation(heap):
    """As a command of another version has put it there, inside which this one runs."""
    old = "/old/libsobor-heap.so"
    environ = {"LD_PRELOAD": f"{old}:/a.so:/old/libsobor.so"}
    merged = Forward(LIBRARY, {}, {}, environ, heap).merged_preload(None)
    assert merged == f"{heap or old}:/a.so:{LIBRARY}"


def test_openmpi_same_preload_in_every_program(plan):
    launch = plan("mpirun -x LD_PRELOAD=/a.so a : -x LD_PRELOAD=/a.so b", "openmpi4")
    assert launch.argv.count(f"LD_PRELOAD=/a.so:{LIBRARY}") == 2


def test_openmpi_refuses_different_preloads(plan):
    with pytest.raises(SoborError, match="differs between the programs"):
        plan("mpirun -x LD_PRELOAD=/a.so a : b", "openmpi4")


def test_openmpi_option_of_the_program_is_no_option_of_the_launcher(plan):
    launch = plan("mpirun -n 2 app -x LD_PRELOAD=/a.so", "openmpi4")
    assert launch.argv[-2:] == ["-x", "LD_PRELOAD=/a.so"]
    assert f"LD_PRELOAD={LIBRARY}" in launch.argv


def test_openmpi_precedence_of_variables(plan):
    """--set beats -x, and -x beats the environment."""
    line = "mpirun -x SOBOR_RING=1KiB -x SOBOR_WAIT=spin -n 2 app"
    present = {"SOBOR_RING": "2KiB", "SOBOR_WAIT": "yield"}
    launch = plan(line, "openmpi4", present=present, chosen={"SOBOR_RING": "3KiB"})
    values = [word for word in launch.argv if word.startswith("SOBOR")]
    assert values == ["SOBOR_RING=3KiB", "SOBOR_WAIT=spin"]


@pytest.mark.parametrize(
    ("line", "environ"),
    [
        ("mpirun --mca mca_base_env_list A=1 -n 2 app", {}),
        ("mpirun -n 2 app", {"OMPI_MCA_mca_base_env_list": "A=1"}),
    ],
)
def test_openmpi_4_refuses_env_list(plan, line, environ):
    with pytest.raises(SoborError, match="mca_base_env_list") as error:
        plan(line, "openmpi4", environ=environ)
    assert "-x" in error.value.remedy


def test_openmpi_5_allows_env_list(plan):
    launch = plan("mpirun --mca mca_base_env_list A=1 -n 2 app", "openmpi5")
    assert f"LD_PRELOAD={LIBRARY}" in launch.argv


def test_openmpi_4_appfile_goes_by_the_environment(plan):
    launch = plan("mpirun --app file", "openmpi4")
    assert launch.argv == ["mpirun", "--app", "file"]
    assert launch.env == {"LD_PRELOAD": LIBRARY}
    assert "only ranks on this node" in launch.warnings[0]


# --- Hydra ------------------------------------------------------------------------------------


@pytest.mark.parametrize("banner", ["mpich", "intel"])
def test_hydra(plan, banner):
    launch = plan(
        "mpiexec -n 1 a : -n 1 b",
        banner,
        present={"SOBOR_WAIT": "a,b;c"},
        chosen={"SOBOR_RING": "8"},
    )
    assert launch.argv == [
        *("mpiexec", "-genv", "SOBOR_WAIT", "a,b;c", "-genv", "LD_PRELOAD", LIBRARY),
        *("-genv", "SOBOR_RING", "8", "-n", "1", "a", ":", "-n", "1", "b"),
    ]
    assert launch.env == {}
    assert launch.programs == ["a", "b"]


@pytest.mark.parametrize(
    ("options", "environ"),
    [
        ("-genv LD_PRELOAD /a.so", {}),
        ("-genv LD_PRELOAD=/a.so", {}),
        ("--genv LD_PRELOAD /a.so", {"LD_PRELOAD": "/other.so"}),
        ("-n 1 -genv LD_PRELOAD /a.so", {}),
    ],
)
def test_hydra_merges_a_global_preload_in_its_place(plan, options, environ):
    launch = plan(f"mpiexec {options} -n 2 app", "mpich", environ=environ)
    assert launch.argv.count("LD_PRELOAD") == 1
    at = launch.argv.index("LD_PRELOAD")
    assert launch.argv[at + 1] == f"/a.so:{LIBRARY}"


def test_hydra_merges_the_inherited_preload(plan):
    launch = plan("mpiexec -n 2 app", "mpich", environ={"LD_PRELOAD": "/a.so"})
    assert f"/a.so:{LIBRARY}" in launch.argv


def test_hydra_merges_a_programs_own_preload(plan):
    """-env beats -genv in Hydra, so ours must stand in it too."""
    launch = plan("mpiexec -env LD_PRELOAD /a.so a : -env LD_PRELOAD=/b.so b : c", "mpich")
    assert launch.argv == [
        *("mpiexec", "-genv", "LD_PRELOAD", LIBRARY),
        *("-env", "LD_PRELOAD", f"/a.so:{LIBRARY}", "a", ":"),
        *("-env", "LD_PRELOAD", f"/b.so:{LIBRARY}", "b", ":", "c"),
    ]


def test_hydra_precedence_of_variables(plan):
    line = "mpiexec -genv SOBOR_RING 1KiB -genv SOBOR_WAIT spin -n 2 -env SOBOR_RING 2KiB app"
    present = {"SOBOR_RING": "4KiB", "SOBOR_WAIT": "yield"}
    launch = plan(line, "mpich", present=present, chosen={"SOBOR_RING": "3KiB"})
    words = launch.argv
    assert [words[i + 1] for i, word in enumerate(words) if word == "SOBOR_RING"] == [
        "3KiB",
        "3KiB",
    ]
    assert [words[i + 1] for i, word in enumerate(words) if word == "SOBOR_WAIT"] == ["spin"]


def test_hydra_value_of_another_variable_is_not_touched(plan):
    launch = plan("mpiexec -genv A LD_PRELOAD=/a.so -n 2 app", "mpich")
    assert launch.argv[3:6] == [LIBRARY, "-genv", "A"]
    assert launch.argv[6] == "LD_PRELOAD=/a.so"


# --- Slurm ------------------------------------------------------------------------------------


def test_srun(plan):
    launch = plan("srun -n 2 app", "slurm", present={"SOBOR_VERBOSE": "1"})
    assert launch.argv == ["srun", "-n", "2", "app"]
    assert launch.env == {"LD_PRELOAD": LIBRARY, "SOBOR_VERBOSE": "1"}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("--export=NONE", "--export=LD_PRELOAD,SOBOR_RING"),
        ("--export=NIL", "--export=LD_PRELOAD,SOBOR_RING"),
        ("--export NONE", "--export LD_PRELOAD,SOBOR_RING"),
        ("--export=ALL", "--export=ALL,LD_PRELOAD,SOBOR_RING"),
        ("--export=A,B=1", "--export=A,B=1,LD_PRELOAD,SOBOR_RING"),
        ("--export=A='x,y',B", "--export=A='x,y',B,LD_PRELOAD,SOBOR_RING"),
        ("--export=ALL --export=A", "--export=ALL --export=A,LD_PRELOAD,SOBOR_RING"),
        ("--export=SOBOR_RING=1,A", "--export=A,LD_PRELOAD,SOBOR_RING"),
    ],
)
def test_srun_export(plan, given, wanted):
    line = " ".join(shlex.quote(word) for word in f"srun {given} -n 2 app".split())
    launch = plan(line, "slurm", chosen={"SOBOR_RING": "8"})
    assert launch.argv == f"srun {wanted} -n 2 app".split()
    assert launch.env == {"LD_PRELOAD": LIBRARY, "SOBOR_RING": "8"}


def test_srun_export_of_each_program(plan):
    line = "srun -n 1 a : -n 1 --export=NONE b : --export A c"
    launch = plan(line, "slurm", environ={"SLURM_EXPORT_ENV": "B"})
    assert shlex.join(launch.argv) == (
        "srun -n 1 a : -n 1 --export=LD_PRELOAD b : --export A,LD_PRELOAD c"
    )
    assert launch.env == {"LD_PRELOAD": LIBRARY, "SLURM_EXPORT_ENV": "B,LD_PRELOAD"}
    same = "--export=LD_PRELOAD=/a.so"
    assert plan(f"srun {same} a : {same} b").env["LD_PRELOAD"] == f"/a.so:{LIBRARY}"
    with pytest.raises(SoborError, match="differs between the programs"):
        plan(f"srun {same} a : b")


@pytest.mark.parametrize(
    "before",
    [
        *("--account sh", "-q sh", "--qos sh", "-C sh", "--constraint sh", "--reservation sh"),
        *("-L sh", "-M sh", "--comment sh", "--wckey sh", "--task-prolog sh", "--epilog sh"),
        *("--prefer sh", "--mcs-label sh", "--bb sh", "--uid sh", "-F sh", "--gpu-bind sh"),
        *("-K", "--pty", "--exact", "--multi-prog", "--x11", "-s -l", "--propagate"),
    ],
)
def test_srun_export_after_another_option(plan, before):
    """The name of a program on the PATH as a value, and options without one."""
    launch = plan(f"srun {before} --export=NONE app --export=NONE", "slurm")
    assert shlex.join(launch.argv) == f"srun {before} --export=LD_PRELOAD app --export=NONE"
    assert launch.programs == ["app"]
    without = plan(f"srun --export=NONE {before} app", "slurm")
    assert without.programs == ["app"]


def test_srun_export_keeps_the_users_values(plan):
    line = "srun --export=LD_PRELOAD=/a.so,SOBOR_WAIT=spin -n 2 app"
    launch = plan(line, "slurm", present={"SOBOR_WAIT": "yield"})
    assert launch.argv[1] == "--export=SOBOR_WAIT=spin,LD_PRELOAD"
    assert launch.env["LD_PRELOAD"] == f"/a.so:{LIBRARY}"


def test_srun_in_a_job_of_sbatch_export_none(plan):
    launch = plan("srun -n 2 app", "slurm", environ={"SLURM_EXPORT_ENV": "NONE"})
    assert launch.env == {"LD_PRELOAD": LIBRARY, "SLURM_EXPORT_ENV": "LD_PRELOAD"}


def test_srun_option_wins_over_the_variable(plan):
    launch = plan("srun --export=ALL -n 2 app", "slurm", environ={"SLURM_EXPORT_ENV": "NONE"})
    assert launch.argv[1] == "--export=ALL,LD_PRELOAD"
    assert "SLURM_EXPORT_ENV" not in launch.env


# --- no launcher, unknown launchers, wrappers -------------------------------------------------


def test_plain_program(plan):
    launch = plan("sh -c true", environ={"LD_PRELOAD": "/a.so"}, chosen={"SOBOR": "off"})
    assert launch.argv == ["sh", "-c", "true"]
    assert launch.env == {"LD_PRELOAD": f"/a.so:{LIBRARY}", "SOBOR": "off"}
    assert launch.warnings == []


def test_nested_run_adds_the_preload_once(plan):
    assert plan("sh", environ={"LD_PRELOAD": LIBRARY}).env["LD_PRELOAD"] == LIBRARY


def test_unknown_mpirun_goes_by_the_environment_with_a_warning(plan):
    launch = plan("mpirun -n 2 app", name="mpirun")
    assert launch.env == {"LD_PRELOAD": LIBRARY}
    assert "no launcher that Sobor knows" in launch.warnings[0]


@pytest.mark.parametrize(
    "wrapper",
    [
        *("timeout 60", "env A=1", "nice -n 5", "numactl -N 0", "taskset -c 0-3", "time -p"),
        *("env A=1 nice -n 5", "strace -f -o sh", "timeout -s kill 60", "timeout --signal=kill 60"),
    ],
)
def test_launcher_behind_a_wrapper(plan, wrapper):
    launch = plan(f"{wrapper} mpiexec -n 2 app", "mpich", name="mpiexec")
    assert shlex.join(launch.argv) == f"{wrapper} mpiexec -genv LD_PRELOAD {LIBRARY} -n 2 app"
    assert launch.env == {}


@pytest.mark.parametrize(
    "line",
    ["time ./tests.py --launcher mpiexec -n 4", "timeout 60 sh srun", "env A=1 nice sh -c srun"],
)
def test_a_launchers_name_among_a_programs_words(plan, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_program(tmp_path / "tests.py", "#!/bin/sh\n")
    write_program(tmp_path / "mpi" / "bin" / "time", "#!/bin/sh\n")
    launch = plan(line, "mpich", name="mpiexec")
    assert shlex.join(launch.argv) == line
    assert launch.env == {"LD_PRELOAD": LIBRARY}


def test_preload_set_by_a_wrapper_is_refused(plan):
    with pytest.raises(SoborError, match="cannot add itself") as error:
        plan("env LD_PRELOAD=/a.so mpirun -n 2 app", "openmpi4", name="mpirun")
    assert "LD_PRELOAD=/a.so sobor run" in error.value.remedy


def test_preload_set_behind_the_launcher_is_warned_of(plan):
    launch = plan("mpirun -n 2 env LD_PRELOAD=/a.so app", "openmpi4")
    assert "takes the place of Sobor's preload" in launch.warnings[0]


@pytest.mark.parametrize("path", ["/my folder/libsobor.so", "/a:b/libsobor.so", "/$x/libsobor.so"])
def test_library_that_cannot_be_preloaded(path):
    with pytest.raises(SoborError, match="cannot preload a path") as error:
        plan_launch(["sh"], Forward(path, {}, {}, {"PATH": "/bin"}))
    assert "SOBOR_PREFIX" in error.value.remedy
