"""Programs that some tests need and pip cannot bring."""

import os
import shutil

import pytest

__all__ = ["require"]


def require(*names: str) -> str:
    """Return the path of the first of these programs that is installed.

    Without any, the test is skipped with a reason, or fails where LIMEN_REQUIRE_ALL=1 (as in CI).
    """
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    reason = f"{' or '.join(names)} is not installed"
    if os.environ.get("LIMEN_REQUIRE_ALL") == "1":
        pytest.fail(f"{reason}, and LIMEN_REQUIRE_ALL=1 asks for every test")
    pytest.skip(reason)
