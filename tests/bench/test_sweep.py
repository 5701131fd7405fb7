"""Sweeps: order, failures, resuming, executors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

import pipedsl
from pipedsl.bench import Records, sweep

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Item:
    number: int
    folder: str = ""


def square(item: Item) -> dict[str, int]:
    """The square; every call leaves a file."""
    if item.folder:
        (Path(item.folder) / f"{item.number}-{time.monotonic_ns()}").touch()
    if item.number == 3:
        raise pipedsl.ResourceError("three is too many.")
    if item.number == 13:
        os._exit(1)
    return {"square": item.number**2}


def test_rows_come_in_order_and_failures_with_a_reason(fresh_cache):
    with ThreadPoolExecutor(4) as pool:
        found = sweep(square, [Item(n) for n in (5, 3, 1)], executor=pool, progress=False)
    assert found.rows == [
        {"number": 5, "folder": "", "square": 25}, {"number": 1, "folder": "", "square": 1},
    ]  # fmt: skip
    assert found.failures == [{"number": 3, "folder": "", "reason": "three is too many."}]
    assert "failed: number=3, folder=: three is too many." in str(found)


def test_what_is_known_is_not_measured_again(fresh_cache, tmp_path):
    calls = tmp_path / "calls"
    calls.mkdir()
    items = [Item(n, str(calls)) for n in range(6)]
    with ThreadPoolExecutor(1) as pool:
        first = sweep(square, items[:4], executor=pool, progress=False)
        second = sweep(square, items, executor=pool, progress=False)
        assert len(list(calls.iterdir())) == 6
        assert second.rows[:3] == first.rows
        sweep(square, items, executor=pool, progress=False, version="2")
    assert len(list(calls.iterdir())) == 12


def test_processes_are_the_default_and_one_that_dies_is_named(fresh_cache):
    items = [Item(n) for n in (2, 13, 4)]
    found = sweep(square, items, progress=False)
    assert [row["square"] for row in found] == [4, 16]
    assert [(row["number"], row["reason"]) for row in found.failures] == [(13, "its process ended")]


def test_what_cannot_be_sent_is_refused(fresh_cache):
    with pytest.raises(pipedsl.LaunchError, match="cannot be sent to another process") as caught:
        sweep(lambda item: {}, [Item(1)], progress=False)
    assert caught.value.where.filename == __file__


def test_what_a_prompt_defines_is_measured_in_its_own_process(fresh_cache):
    script = """
from dataclasses import dataclass
from pipedsl.bench import sweep
@dataclass(frozen=True)
class Item:
    number: int
def square(item):
    return {"square": item.number ** 2}
print([row["square"] for row in sweep(square, [Item(2), Item(3)], progress=False)])
"""
    done = subprocess.run(
        [sys.executable], input=script, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[4, 9]\n"


KILLED = """
from concurrent.futures import ThreadPoolExecutor
from tests.bench.test_sweep import Item, slow
from pipedsl.bench import sweep
import sys
items = [Item(n, sys.argv[1]) for n in range(8)]
with ThreadPoolExecutor(1) as pool:
    print(len(sweep(slow, items, executor=pool, progress=False)))
"""


def slow(item: Item) -> dict[str, int]:
    time.sleep(0.2)
    return square(Item(item.number + 20, item.folder))


def test_a_sweep_that_was_killed_goes_on_where_it_ended(fresh_cache, tmp_path):
    calls = tmp_path / "calls"
    calls.mkdir()
    command = [sys.executable, "-c", KILLED, str(calls)]
    first = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    while len(list(calls.iterdir())) < 4:
        assert first.poll() is None
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    done = len(list(calls.iterdir()))
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert output == "8\n"
    # At most the one that was under way is measured twice.
    assert 8 <= len(list(calls.iterdir())) <= 9
    assert done < 8


def test_a_dask_cluster_of_two_workers(fresh_cache):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = sweep(square, [Item(n) for n in range(5)], executor=client.get_executor())
    assert [row["square"] for row in found] == [0, 1, 4, 16]
    assert len(found.failures) == 1


def test_records_are_saved_whole(tmp_path):
    records = Records([{"a": 1, "b": "x"}, {"a": 2.5, "b": "y"}], [{"a": 3, "reason": "no."}], "t")
    records.save(tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text() == "a,b\n1,x\n2.5,y\n"
    records.save(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["failures"] == records.failures
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.csv", "r.json"]
    assert records.best("a")["b"] == "y"
    assert records.best("a", most=False)["b"] == "x"
    pandas = pytest.importorskip("pandas")
    assert list(records.to_pandas()["a"]) == [1, 2.5]
    assert isinstance(records.to_pandas(), pandas.DataFrame)
    html = records._repr_html_()
    assert "<td" in html
    assert "failed: a=3: no." in html


def test_records_refuse_what_they_cannot_do(tmp_path):
    records = Records([{"a": 1}])
    with pytest.raises(pipedsl.LaunchError, match="cannot be saved as 'r.xls'"):
        records.save(tmp_path / "r.xls")
    with pytest.raises(pipedsl.LaunchError, match="no row with 'b'"):
        records.best("b")
    with pytest.raises(pipedsl.LaunchError, match="cannot be written"):
        records.save(tmp_path / "absent" / "r.csv")
