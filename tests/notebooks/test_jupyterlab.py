"""A notebook in real JupyterLab, in headless Chromium, up to the timeline on the screen."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "notebooks" / "first_pipeline.md"
CHROMIUM, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))

if os.environ.get("PIPEDSL_TEST_BROWSER") != "1" and not (CHROMIUM and DRIVER):
    pytest.skip("Chromium and chromedriver are not installed", allow_module_level=True)

from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

pytestmark = pytest.mark.timeout(280)


@pytest.fixture
def lab(tmp_path) -> Iterator[str]:
    """Address of a JupyterLab that shows a folder with the notebook."""
    folder, runtime = tmp_path / "notebooks", tmp_path / "runtime"
    shutil.copytree(NOTEBOOK.parent, folder)
    environment = {
        **os.environ,
        "JUPYTER_RUNTIME_DIR": str(runtime),
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "PYTHONWARNINGS": "ignore",
    }
    options = [
        "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", "--expose-app-in-browser",
        "--LabApp.app_settings_dir=lab", NOTEBOOK.name,
    ]  # fmt: skip
    log = (tmp_path / "lab.log").open("w")
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options],
        cwd=folder, env=environment, stdout=log, stderr=log,
    )  # fmt: skip
    try:
        yield _address(runtime, server)
    finally:
        server.terminate()
        server.wait(30)
        log.close()


def _address(runtime: Path, server: subprocess.Popen[bytes]) -> str:
    for _ in range(600):
        for path in runtime.glob("jpserver-*.json"):
            try:
                info = json.loads(path.read_text())
            except ValueError:  # not written to its end yet
                continue
            return f"{info['url']}lab/tree/{NOTEBOOK.name}?token={info['token']}"
        assert server.poll() is None, "JupyterLab ended"
        time.sleep(0.1)
    raise AssertionError("JupyterLab did not start")


@pytest.fixture
def browser(tmp_path) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-dev-shm-usage", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--window-size=1500,1300",
        f"--user-data-dir={tmp_path / 'profile'}",
    ):  # fmt: skip
        options.add_argument(flag)
    driver = webdriver.Chrome(options, webdriver.ChromeService(str(DRIVER)))
    try:
        yield driver
    finally:
        driver.quit()


IDLE = """
    const panels = [...window.jupyterapp.shell.widgets('main')];
    return panels.some(p => p.sessionContext?.session?.kernel?.status === 'idle');
"""


def test_all_cells_run_and_the_timeline_is_on_the_screen(lab, browser, tmp_path):
    browser.get(lab)
    wait = WebDriverWait(browser, 120)
    wait.until(lambda b: b.find_elements(By.CSS_SELECTOR, ".jp-Notebook .jp-CodeCell"))
    wait.until(lambda b: b.execute_script(IDLE))
    browser.find_element(By.CSS_SELECTOR, ".jp-Cell").click()  # it has the focus now
    browser.execute_script("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    wait.until(lambda b: len(b.find_elements(By.CSS_SELECTOR, ".jp-OutputArea svg.pipedsl")) >= 2)
    last = "return document.querySelectorAll('.jp-OutputArea-output .pipedsl-box').length"
    wait.until(lambda b: b.execute_script(last) >= 2)
    assert not browser.find_elements(By.CSS_SELECTOR, "[data-mime-type*='stderr']")
    timeline = browser.find_element(By.CSS_SELECTOR, ".jp-OutputArea svg.pipedsl")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", timeline)
    box = timeline.rect
    assert box["width"] > 500
    assert box["height"] > 100
    assert len(timeline.find_elements(By.CSS_SELECTOR, "rect.full")) > 3
    assert "waits for full" in timeline.text
    picture = Path(os.environ.get("PIPEDSL_SCREENSHOT", tmp_path / "lab.png"))
    assert browser.save_screenshot(str(picture))
    assert len(_colours(timeline.screenshot_as_png)) > 20


def _colours(png: bytes) -> set[bytes]:
    """Colours of an 8-bit PNG without interlacing; rows filtered by Sub or not at all count too."""
    width, _, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert depth == 8
    size = {2: 3, 6: 4}[kind]
    data, at = b"", 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += length + 12
    rows = zlib.decompress(data)
    step = 1 + width * size
    return {
        rows[i : i + size]
        for start in range(0, len(rows), step)
        for i in range(start + 1, start + step, size)
    }
