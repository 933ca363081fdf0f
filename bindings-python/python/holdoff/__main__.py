"""``python -m holdoff``: the command line, which is a program of its own in the package ``holdoff-cli``."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig


def main() -> int:
    """Runs the program that pip has installed beside this Python; the exit code is 2 without one."""
    # pip installs programs into the environment or, with --user, into the user's own folder.
    schemes = ("", sysconfig.get_preferred_scheme("user"))
    folders = [sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts") for scheme in schemes]
    name = "holdoff" + (sysconfig.get_config_var("EXE") or "")
    for program in (os.path.join(folder, name) for folder in folders):
        if os.path.isfile(program):
            arguments = [program, *sys.argv[1:]]
            if os.name == "posix":
                os.execv(program, arguments)
            return subprocess.run(arguments, check=False).returncode
    print('holdoff: the command line is a package of its own: pip install "holdoff[cli]"', file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
