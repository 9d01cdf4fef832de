"""Runs of a study as tasks of a Ray cluster: each takes its share of a node, and a node that dies fails none."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from zoo.errors import ConfigError, MissingLibraryError

PATIENCE = 10.0
"""Seconds in which an address has to answer."""
LIMITS = (
    "RAY_gcs_rpc_server_connect_timeout_s",
    "RAY_gcs_rpc_server_reconnect_timeout_s",
    "RAY_gcs_server_request_timeout_seconds",
)
"""Settings of Ray by which it waits for a head."""
UPLOAD = "RAY_ENABLE_UV_RUN_RUNTIME_ENV"
"""Setting of Ray, read when it is imported, by which a driver under `uv run` uploads its folder, data and all."""
RETRIES = 3
"""Times that a task is tried again, elsewhere if need be, when its node or worker dies."""


class RayExecutor:
    """Run calls as tasks of a Ray cluster; `submit` is that of `concurrent.futures.Executor`.

    The package and the data have to be on every node, under the same paths: the Python that started a node runs its
    calls. Ray's own way under `uv run`, to upload the current folder with all that is in it, is off; it is on where
    Ray was imported before, or `RAY_ENABLE_UV_RUN_RUNTIME_ENV=1` asks for it. A call that raises is tried again, since
    the runs of a grid do not raise: what does is the node, as one that lacks the package.

    Args:
        address: `host:port` of the cluster's head; None for that of `RAY_ADDRESS`, else for a cluster of its own with
            the cores of this machine.
        cpus: that a call takes.
        gpus: that a call takes.

    Raises:
        MissingLibraryError: If Ray is not installed.
        ConfigError: If nothing answers at the address.
    """

    def __init__(self, address: str | None = None, cpus: int = 1, gpus: int = 0) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault(UPLOAD, "0")
        try:
            import ray
        except ImportError as error:
            raise MissingLibraryError("--executor ray needs Ray: pip install 'attention-zoo[cluster]'") from error
        self._ray = ray
        connect(address)
        self._call = ray.remote(called).options(
            num_cpus=cpus, num_gpus=gpus, max_retries=RETRIES, retry_exceptions=True
        )

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Start a call when a node has room for it."""
        future: Future[Any] = self._call.remote(fn, *args).future()
        return future

    def __enter__(self) -> "RayExecutor":
        """Give itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster, which ends what still runs."""
        self._ray.shutdown()


def called(fn: Callable[..., Any], *args: Any) -> Any:
    """Make a call on a node; a run that failed tells on which, since another may not."""
    result = fn(*args)
    if isinstance(result, dict) and "error" in result:
        result["error"] += f" (on node {socket.gethostname()}, {_address_of_node()})"
    return result


def _address_of_node() -> str:
    import ray

    return str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]


def connect(address: str | None) -> None:
    """Enter a cluster.

    Raises:
        ConfigError: If nothing answers, or what answers is no Ray.
    """
    import ray

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "ignore_reinit_error": True}
    if address := address or os.environ.get("RAY_ADDRESS"):
        check_answers(address)
        ray.init(address, **options)
    else:
        ray.init("local", include_dashboard=False, **options)  # "auto" waits for the last cluster, dead or alive


def check_answers(address: str) -> None:
    """Ask for the head of a cluster, in a process of its own: Ray's would wait for minutes, and then end this one.

    Raises:
        ConfigError: If nothing answers, or what answers is no Ray.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigError(f"--address {address}: write host:port of the cluster's head, such as 10.0.0.1:6379")
    advice = (
        "check that the head runs there (ray status, on that machine), that the port is the one that ray start --head "
        "printed, and that a firewall lets it through"
    )
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise ConfigError(f"--address {address}: nothing answers ({error}); {advice}") from error
    limits = dict.fromkeys(LIMITS, f"{PATIENCE / 2:.0f}")
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    asked = subprocess.run(command, env=os.environ | limits, capture_output=True, check=False)
    if asked.returncode:
        raise ConfigError(f"--address {address}: what answers there is no Ray cluster; {advice}")
