"""The engines of a launch, each run for real: a Ray cluster, a one-machine SLURM, openjd."""

import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from limen.addon.core.dataset import compare, done_views

pytestmark = [pytest.mark.render, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
DONE, FAILED, WRONG_USE = 0, 1, 2
NEED_ALL = os.environ.get("LIMEN_REQUIRE_ALL") == "1"


def launch(study: Path, out: Path, *more: object) -> subprocess.Popen:
    command = [sys.executable, ROOT / "batch" / "launch.py", "--study", study, "--out", out, *more]
    return subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def wait_until(condition, process: subprocess.Popen | None = None) -> None:
    until = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < until
        assert process is None or process.poll() is None, process.communicate()[0]
        time.sleep(0.05)


def test_a_ray_cluster_that_loses_a_node_in_the_middle_finishes(
    small_study, small_dataset, tmp_path, monkeypatch
):
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    from ray.cluster_utils import Cluster

    out = tmp_path / "dataset"
    memory = {"object_store_memory": 100 << 20}
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, **memory}
    )
    try:
        doomed = cluster.add_node(num_cpus=1, **memory)
        cluster.wait_for_nodes()
        more = ("--engine", "ray", "--address", cluster.address, "--shards", 2, "--threads", 1)
        process = launch(small_study, out, *more)
        wait_until(lambda: list((out / "media").rglob("*.png")), process)
        cluster.remove_node(doomed, allow_graceful=False)
        said = process.communicate(timeout=300)[0]
        assert process.returncode == DONE, said
    finally:
        cluster.shutdown()
    assert compare(out, small_dataset.root) == []


@pytest.mark.parametrize(
    ("more", "code", "status", "says"),
    [
        (["--threads", 1000], "exit 0", WRONG_USE, "no node has more than"),
        (["--threads", 1], None, FAILED, "No such file or directory: 'blender-of-the-nodes'"),
        (["--threads", 1], "exit 0", FAILED, "status 0, and it said nothing"),
        (["--threads", 1], "kill -SEGV $$", FAILED, "status -11, and it said nothing"),
    ],
)
def test_what_can_never_render_ends_a_launch_on_ray(
    small_study, tmp_path, more, code, status, says
):
    blender = "blender-of-the-nodes"
    if code is not None:
        blender = tmp_path / "blender"
        blender.write_text(f"#!/bin/sh\n{code}\n")
        blender.chmod(0o755)
    process = launch(
        small_study, tmp_path / "out", "--engine", "ray", "--blender", blender, "--shards", 2, *more
    )
    said = process.communicate(timeout=110)[0]
    assert (process.returncode, says in said) == (status, True), said


def test_openjd_runs_the_template(small_study, small_dataset, tmp_path):
    out, template = tmp_path / "dataset", tmp_path / "job.yaml"
    more = ("--engine", "openjd", "--write", template, "--shards", 2, "--threads", 1)
    process = launch(small_study, out, *more)
    said = process.communicate()[0]
    assert process.returncode == DONE, said
    openjd = Path(sys.executable).parent / "openjd"
    checked = subprocess.run([openjd, "check", template], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    done = subprocess.run([openjd, "run", template], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert compare(out, small_dataset.root) == []


# --- SLURM ---------------------------------------------------------------------------------------

SLURM = ("slurmctld", "slurmd", "munged", "mungekey", "sbatch", "setpriv")
SLURM_CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldPidFile={root}/ctld.pid
SlurmdPidFile={root}/d.pid
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


@pytest.fixture
def slurm(tmp_path):
    """A SLURM of this machine alone; yields the environment that reaches it."""
    missing = [name for name in SLURM if shutil.which(name, path=os.environ["PATH"]) is None]
    if missing or getpass.getuser() != "root":
        reason = f"SLURM needs root and {', '.join(SLURM)} ({', '.join(missing)} missing)"
        assert not NEED_ALL, reason
        pytest.skip(reason)
    root = Path("/tmp") / f"limen-slurm-{os.getpid()}"  # munge asks for a short path
    for folder in ("state", "spool", "munge"):
        (root / folder).mkdir(parents=True)
    root.chmod(0o755)
    shutil.chown(root / "munge", "munge", "munge")
    (root / "munge").chmod(0o700)
    key = root / "munge" / "key"
    started: list[subprocess.Popen] = []

    def start(*command: object) -> None:
        log = (root / f"{Path(str(command[0])).name}-{len(started)}.log").open("wb")
        environment = {**os.environ, "SLURM_CONF": str(root / "slurm.conf")}
        words = list(map(str, command))
        started.append(subprocess.Popen(words, stdout=log, stderr=log, env=environment))

    try:
        subprocess.run(["mungekey", "-c", "-k", key], check=True)
        shutil.chown(key, "munge", "munge")
        key.chmod(0o400)
        socket_file = root / "munge.socket"
        root.chmod(0o1777)
        own = ("--reuid=munge", "--regid=munge", "--clear-groups")
        start(
            "setpriv", *own, "munged", "--foreground", "--force", f"--socket={socket_file}",
            f"--key-file={key}", f"--pid-file={root}/munge/pid", f"--seed-file={root}/munge/seed",
            f"--log-file={root}/munge/log",
        )  # fmt: skip
        wait_until(socket_file.exists)
        ports = []
        for _ in range(2):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                ports.append(free.getsockname()[1])
        host = socket.gethostname().split(".")[0]
        (root / "slurm.conf").write_text(SLURM_CONF.format(host=host, root=root, ports=ports))
        start("slurmctld", "-D", "-f", root / "slurm.conf", "-i", "-c")
        start("slurmd", "-D", "-f", root / "slurm.conf", "-N", host)
        environment = {**os.environ, "SLURM_CONF": str(root / "slurm.conf")}

        def idle() -> bool:
            asked = subprocess.run(
                ["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True
            )
            return "idle" in asked.stdout

        wait_until(idle)
        yield environment
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()
        shutil.rmtree(root, ignore_errors=True)


def test_slurm_runs_the_array_and_the_dataset_is_what_one_process_renders(
    slurm, small_study, small_dataset, tmp_path, monkeypatch
):
    for name, value in slurm.items():
        monkeypatch.setenv(name, value)
    out = tmp_path / "dataset"
    more = ("--engine", "slurm", "--slurm", "partition=main", "--shards", 2, "--threads", 1)
    process = launch(small_study, out, *more)
    said = process.communicate()[0]
    assert process.returncode == DONE, said
    assert "Submitted batch job" in said

    def over() -> bool:
        asked = subprocess.run(["squeue", "-h"], capture_output=True, text=True)
        return asked.returncode == 0 and not asked.stdout.strip()

    wait_until(over)
    logs = "\n".join(path.read_text() for path in (out / "work" / "logs").glob("*.log"))
    assert done_views(out) == set(small_dataset.views), logs
    assert compare(out, small_dataset.root) == []


def test_an_option_that_would_break_the_script_is_refused(small_study, tmp_path):
    for option in ("partition", "array=0-99", "comment=a b", "x=$(id)"):
        process = launch(small_study, tmp_path / "dataset", "--engine", "slurm", "--slurm", option)
        said = process.communicate()[0]
        assert process.returncode == WRONG_USE, said
        assert "KEY=VALUE is needed" in said


def test_the_script_and_the_template_can_be_written_without_being_started(small_study, tmp_path):
    script, template = tmp_path / "a b.sbatch", tmp_path / "job.json"
    for engine, path in (("slurm", script), ("openjd", template)):
        process = launch(
            small_study, tmp_path / "data set", "--engine", engine, "--write", path,
            "--device", "gpu", "--threads", 3,
        )  # fmt: skip
        assert process.wait() == DONE, process.communicate()[0]
    text = script.read_text()
    assert "#SBATCH --cpus-per-task=3" in text
    assert "#SBATCH --gres=gpu:1" in text
    assert f"'{tmp_path / 'data set'}'" in text
    assert subprocess.run(["bash", "-n", script]).returncode == 0
    job = json.loads(template.read_text())
    amounts = {a["name"]: a["min"] for a in job["steps"][0]["hostRequirements"]["amounts"]}
    assert amounts == {"amount.worker.vcpu": 3, "amount.worker.gpu": 1}
