# SPDX-License-Identifier: BSD-3-Clause
"""What is said before a command is started that will not do what is meant."""

import os
import shutil
import subprocess

import pytest

from sobor import elf
from sobor.bench.request import usual_ranks
from sobor.launchers import Forward, doubts, plan_launch

ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")


@pytest.fixture
def said(command, fake_native, make_launcher, monkeypatch):
    """What sobor run says of a command that it does not run; of four cores, not as root."""
    make_launcher("mpirun", "openmpi4")
    make_launcher("mpiexec", "mpich")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    cpus = type("Cpus", (), {"cores": 4, "allowed": list(range(8))})
    monkeypatch.setattr(doubts, "read_cpus", lambda _files: cpus)
    for name in (*ROOT, *doubts._MANAGERS, "OMPI_MCA_rmaps_base_oversubscribe"):
        monkeypatch.delenv(name, raising=False)

    def run(*words):
        return command("run", "--print", "--", *words).err

    return run


@pytest.mark.parametrize("line", ["sbatch job.sh", "/opt/bin/qsub j", "flux batch j", "bsub ./j"])
def test_batch_submitter(said, line):
    words = line.split()
    text = said(*words)
    assert words[0] in text and "inside the script" in text


def test_flux_run_is_no_submitter(said, make_launcher):
    make_launcher("flux", "unknown")
    assert "queues" not in said("flux", "run", "-n", "2", "./app")


@pytest.mark.parametrize(
    ("line", "warned"),
    [
        ("env -i A=1 srun -n 2 sh", True),
        ("timeout 60 env --ignore-environment srun sh", True),
        ("env - sh", True),
        ("env -u HOME -i sh", True),
        ("env -i mpirun -n 2 sh", False),  # it stands on the launcher's line
        ("env A=1 srun -n 2 sh", False),
        (
            "env A=1 srun env -i sh",
            False,
        ),  # not looked at, as what starts a program may be anything
        ("srun env -i sh", False),
        ("timeout 60 sh env -i", False),
        ("sh -i", False),
    ],
)
def test_environment_that_is_cleared(said, make_launcher, line, warned):
    make_launcher("srun", "slurm")
    assert ("put sobor run -- behind it" in said(*line.split())) == warned


@pytest.mark.parametrize(
    ("name", "warned"),
    [("mpirun_rsh", True), ("mpiexec_mpt", True), ("prun", True), ("prte", True), ("prune", False)],
)
def test_launchers_that_may_drop_the_preload(said, make_launcher, name, warned):
    """MVAPICH's mpirun_rsh hands on what stands on its line, and nothing of the environment."""
    make_launcher(name, "unknown")
    assert ("may or may not hand on" in said(name, "-np", "2", "./app")) == warned


@pytest.mark.parametrize(
    ("line", "warned"),
    [
        ("-n 4 sh", False),
        ("-n 5 sh", True),
        ("-np 3 sh : -np 2 sh", True),
        ("--oversubscribe -n 5 sh", False),
        ("--map-by :OVERSUBSCRIBE -n 5 sh", False),
        ("-H a:9 -n 9 sh", False),
        ("--use-hwthread-cpus -n 8 sh", False),
        ("--use-hwthread-cpus -n 9 sh", True),
        ("--map-by core:hwtcpus -n 8 sh", False),
    ],
)
def test_slots(said, line, warned):
    assert ("add --oversubscribe" in said("mpirun", *line.split())) == warned


@pytest.mark.parametrize(
    ("setting", "ranks", "warned"),
    [
        ("PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe", 99, False),
        ("OMPI_MCA_rmaps_base_oversubscribe=1", 99, False),
        ("PRTE_MCA_prte_default_hostfile=hosts", 99, False),
        ("PRTE_MCA_rmaps_default_mapping_policy=:hwtcpus", 8, False),
        ("OMPI_MCA_hwloc_base_use_hwthreads_as_cpus=1", 8, False),
        ("OMPI_MCA_hwloc_base_use_hwthreads_as_cpus=1", 9, True),
        ("OMPI_MCA_hwloc_base_use_hwthreads_as_cpus=0", 8, True),
        ("NOTES=oversubscribe", 8, True),
    ],
)
def test_slots_by_a_variable(said, monkeypatch, setting, ranks, warned):
    monkeypatch.setenv(*setting.split("="))
    assert ("add --oversubscribe" in said("mpirun", "-n", str(ranks), "sh")) == warned


def test_slots_of_a_resource_manager(said, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    assert "oversubscribe" not in said("mpirun", "-n", "99", "sh")


def test_root(said, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "--allow-run-as-root" in said("mpirun", "-n", "2", "sh")
    assert "root" not in said("mpirun", "--allow-run-as-root", "-n", "2", "sh")
    assert "root" not in said("mpiexec", "-n", "2", "sh")
    for name in ROOT:
        monkeypatch.setenv(name, "1")
    assert "root" not in said("mpirun", "-n", "2", "sh")


def test_container(said, fake_native, make_launcher):
    make_launcher("apptainer", "unknown")
    folder = fake_native.libraries
    image = ["mpirun", "-n", "2", "apptainer", "exec"]
    text = said(*image, "i.sif", "./app")
    assert "container" in text and f"at the same place, {folder}," in " ".join(text.split())
    for bound in (folder, fake_native.prefix, f"{folder}:{folder}", f"src={folder},dst={folder}"):
        assert "container" not in said(*image, "--bind", str(bound), "i.sif", "./app")


@pytest.mark.parametrize(
    ("words", "warned"),
    [
        ("i.sif /usr/bin/app", True),
        ("--bind /usr/share:/usr/share i.sif app", True),
        ("--bind /usr/lib/sobor i.sif app", False),
        ("--bind /usr:/usr:ro i.sif app", False),
        ("i.sif env LD_PRELOAD=/usr/lib/sobor/libsobor.so app", False),
    ],
)
def test_container_and_the_systems_prefix(make_launcher, monkeypatch, words, warned):
    """As the Debian package has it."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    make_launcher("apptainer", "unknown")
    make_launcher("mpirun", "openmpi4")
    forward = Forward("/usr/lib/sobor/libsobor.so", {}, {}, os.environ)
    launch = plan_launch(["mpirun", "apptainer", "exec", *words.split()], forward)
    said = [text for text in launch.warnings if "container" in text]
    assert ["at the same place, /usr/lib/sobor," in text for text in said] == [True] * warned


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize(
    ("soname", "abi", "launcher"),
    [
        ("libmpi.so.40", "ompi40", "mpiexec"),
        ("libmpich.so.12", "mpich12", "mpirun"),
        ("libmpi.so.12", "mpich12", "mpirun"),
        ("libmpi_cray.so.12", "mpich12", "mpirun"),
        ("libmpi_mpifh.so.40", "ompi40", "mpiexec"),
        ("libmpi_abi.so.1", None, None),
    ],
)
def test_launcher_of_another_mpi(said, tmp_path, soname, abi, launcher):
    (tmp_path / "m.c").write_text("int MPI_Init(void *a, void *b) { return !a + !b; }\n")
    (tmp_path / "p.c").write_text(
        "int MPI_Init(void *, void *);\nint main(void) { return MPI_Init(0, 0); }\n"
    )
    library, program = tmp_path / "libm0.so", tmp_path / "p"
    make = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{soname}", str(tmp_path / "m.c")]
    subprocess.run([*make, "-o", str(library)], check=True)
    subprocess.run(["cc", str(tmp_path / "p.c"), str(library), "-o", str(program)], check=True)
    assert elf.mpi_of(str(program)) == abi
    for name in ("mpirun", "mpiexec"):
        text = said(name, "-n", "2", str(program))
        assert ("each rank would be a job of one" in text) == (name == launcher)


@pytest.mark.parametrize(
    ("cores", "ranks"), [(1, "2,4"), (2, "2,4"), (6, "2,4,6"), (16, "2,4,8,16")]
)
def test_usual_ranks(cores, ranks):
    assert usual_ranks(cores) == ranks
