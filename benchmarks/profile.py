"""The profile at four sizes, as a user's shell runs it: processor seconds, peak memory, first answer, regret.

Each case runs in a process of its own with no thread variables set. Its processor seconds and its peak memory are those that the
operating system counted when it ended (``os.wait4``). The first answer is what comes back when the profile is stopped by hand, as
by Ctrl-C, at its first sign of life after ten processor seconds. Regret is the error of what was built over that of the best of
everything tried on the same rows: the references of ``_references.py``, and for images a plain convolutional network. The cases
stand in ``_scale.py``, since cProfile imports this file by the name of the standard library's module.

    python benchmarks/profile.py --json benchmarks/results/profile.json
    python benchmarks/profile.py --only digits --limit 200
"""

from __future__ import annotations

import sys

if (
    __name__ != "__main__"
):  # cProfile asks for the standard library's module of this name and finds this file beside a script
    import importlib.util
    import sysconfig
    from pathlib import Path

    spec = importlib.util.spec_from_file_location("profile", Path(sysconfig.get_path("stdlib")) / "profile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[__name__] = module
else:
    from _scale import main

    main()
