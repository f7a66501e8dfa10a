# SPDX-License-Identifier: BSD-3-Clause
"""The recipe of Sobor for Spack: spack repo add CHECKOUT/packaging/spack; spack install sobor."""

import glob
import os

from spack.package import *


class Sobor(CMakePackage):
    """Fast collective operations for unmodified MPI programs inside a many-core node."""

    # The checkout that this recipe belongs to; in a repository of yours, where your source is.
    git = "file://" + os.path.realpath(os.path.join(os.path.dirname(__file__), *[".."] * 4))

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("python", default=True, description="The sobor command's Python packages")

    depends_on("c", type="build")
    depends_on("cmake@3.21:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("hwloc@2.1:")
    depends_on("jansson@2.13:")
    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-typer@0.15.4:", type="run", when="+python")
    depends_on("py-rich@13:", type="run", when="+python")

    conflicts("platform=darwin", msg="Linux alone")

    def cmake_args(self):
        """One back end, of the MPI that it is built with."""
        headers = self.spec["mpi"].headers.directories[0]
        is_openmpi = self.spec["mpi"].name == "openmpi"
        names = ["SOBOR_OMPI_INCLUDE", "SOBOR_MPICH_INCLUDE"]
        mine, other = names if is_openmpi else reversed(names)
        return [
            self.define("SOBOR_BUILD_TESTS", False),
            self.define("SOBOR_INSTALL_PYTHON_PACKAGES", False),
            self.define(mine, headers),
            # Those of the system are not looked for.
            self.define(other, False),
            self.define("SOBOR_MPIABI_INCLUDE", False),
        ]

    @run_after("install", when="+python")
    def make_python_environment(self):
        """The command's own Python, with the packages of its dependencies.

        Spack names them in PYTHONPATH, which is for the programs that are run: the command does
        not look there.
        """
        environment = join_path(self.prefix.lib, "sobor", "venv")
        self.spec["python"].command("-m", "venv", "--without-pip", environment)
        folders = [
            folder
            for dependency in self.spec.traverse(root=False, deptype="run")
            if dependency.name.startswith("py-")
            for folder in glob.glob(f"{dependency.prefix}/lib*/python3*/site-packages")
        ]
        (own,) = glob.glob(f"{environment}/lib/python3*/site-packages")
        with open(join_path(own, "dependencies.pth"), "w") as file:
            file.writelines(f"{folder}\n" for folder in folders)

    def setup_run_environment(self, env):
        """What LD_PRELOAD is set to where a launcher hands it on."""
        env.set("SOBOR_PRELOAD", join_path(self.prefix.lib, "sobor", "libsobor.so"))
