"""The picture in docs/commandline.md: the head of a report. Needs Chromium and Selenium."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from selenium import webdriver

HERE = Path(__file__).resolve().parent
COMMAND = (
    "solve patients.csv --target days --exclude relapse -k 5 --impute median --one-hot "
    "--test 0.2 --ridge 0.02 --report report.html --json"
)
WIDTH, HEIGHT = 1100, 1660

with tempfile.TemporaryDirectory() as folder:
    shutil.copy(HERE.parent / "data" / "patients.csv", folder)
    program = "from sparsebounds.cli import app; app(prog_name='sparsebounds')"
    call = [sys.executable, "-c", program, *COMMAND.split()]
    subprocess.run(call, cwd=folder, env=dict(os.environ), check=True, stdout=subprocess.DEVNULL)
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("headless", "no-sandbox", "disable-gpu", f"user-data-dir={folder}/profile"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--window-size={WIDTH},{HEIGHT}")
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    browser = webdriver.Chrome(options=options, service=service)
    browser.get(Path(folder, "report.html").as_uri())
    view = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": 1}
    shot = browser.execute_cdp_cmd(
        "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": view}
    )
    browser.quit()
(HERE / "report.png").write_bytes(base64.b64decode(shot["data"]))
