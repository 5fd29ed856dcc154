"""Everything is in pyproject.toml but this: a built package carries the ledger of claims and the runs behind it."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

CLAIMS = Path(__file__).parent / "claims"


class build_py_with_claims(build_py):
    """Copy claims/ into the package; an editable install reads the checkout's own."""

    def run(self):
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "priorscope" / "lab" / "_claims"
            shutil.rmtree(target, ignore_errors=True)  # build/ may hold those of an earlier build
            for file in (CLAIMS / "ledger.json", *sorted((CLAIMS / "runs").rglob("*.jsonl"))):
                copy = target / file.relative_to(CLAIMS)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)


setup(cmdclass={"build_py": build_py_with_claims})
