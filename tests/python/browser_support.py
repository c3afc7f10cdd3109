"""For tests of what people see: a Chromium without a window, and its pages through all their shadow roots."""

import contextlib
import os
import pathlib
import shutil
from collections.abc import Iterator

import numpy as np
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    StaleElementReferenceException,
)
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.webelement import WebElement
from tensorboard_support import PATIENCE_S, wait_until

OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # tests may run as root
    "--disable-dev-shm-usage",  # /dev/shm of a container may be small
    "--enable-unsafe-swiftshader",  # WebGL without a GPU; the pages are our own
    "--window-size=1400,900",
)

# find("a >>> b"): every b in or below every a. A selector alone ends at a shadow root.
FIND = """
function below(root, selector) {
  const roots = root.shadowRoot ? [root, root.shadowRoot] : [root];
  const found = roots.flatMap((each) => [...each.querySelectorAll(selector)]);
  for (const each of roots.flatMap((each) => [...each.querySelectorAll('*')])) {
    if (each.shadowRoot) found.push(...below(each.shadowRoot, selector));
  }
  return found;
}
function find(path) {
  let found = [document];
  for (const selector of path.split('>>>')) {
    found = [...new Set(found.flatMap((each) => below(each, selector.trim())))];
  }
  return found;
}
"""


class Browser:
    """One window. `path`s are CSS selectors with ` >>> ` between them, which pierce shadow roots."""

    def __init__(self, driver: Chrome, folders: list[pathlib.Path]):
        self.driver = driver
        self._folders = folders

    def open(self, url: str) -> None:
        self.driver.get("about:blank")  # else only the fragment changes, and the old page goes on
        self.driver.get(url)

    def run(self, script: str, *arguments: object) -> object:
        return self.driver.execute_script(FIND + script, *arguments)

    def count(self, path: str) -> int:
        return self.run("return find(arguments[0]).length", path)

    def texts(self, path: str) -> list[str]:
        """The text of each element that is shown."""
        script = """return find(arguments[0]).filter((each) => each.getClientRects().length)
            .map((each) => each.textContent.trim().replace(/\\s+/g, ' '))"""
        return self.run(script, path)

    def attributes(self, path: str, name: str) -> list[str | None]:
        return self.run(
            "return find(arguments[0]).map((each) => each.getAttribute(arguments[1]))", path, name
        )

    def wait_for(self, path: str, text: str = "") -> WebElement:
        """The first shown element that holds the text."""
        script = """return find(arguments[0]).find(
            (each) => each.getClientRects().length && each.textContent.includes(arguments[1]))"""
        return wait_until(lambda: self.run(script, path, text), f"{path} with '{text}'")

    def click(self, path: str, text: str = "") -> None:
        """As soon as nothing moves or covers it."""

        def clicked() -> bool:
            with contextlib.suppress(
                ElementClickInterceptedException,
                ElementNotInteractableException,
                StaleElementReferenceException,
            ):
                self.wait_for(path, text).click()
                return True
            return False

        wait_until(clicked, f"a click on {path} with '{text}'")

    def pixels(self, path: str) -> list[np.ndarray]:
        """The pixels of each loaded image or canvas: height × width × RGBA."""
        script = """
          const sizes = (image) => [image.naturalWidth ?? image.width, image.naturalHeight ?? image.height];
          return find(arguments[0]).filter((image) => sizes(image)[0]).map((image) => {
            const canvas = document.createElement('canvas');
            [canvas.width, canvas.height] = sizes(image);
            const context = canvas.getContext('2d');
            context.drawImage(image, 0, 0);
            const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
            return [canvas.height, canvas.width, [...data]];
          })"""
        decoded = self.run(script, path)
        return [np.array(data, np.uint8).reshape(height, width, 4) for height, width, data in decoded]

    def keep(self, name: str) -> None:
        """A picture of the window as it is."""
        for folder in self._folders:
            folder.mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(folder / f"{name}.png"))

    def errors(self) -> list[str]:
        """The messages in the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


@contextlib.contextmanager
def chromium(folder: pathlib.Path) -> Iterator[Browser]:
    """Its profile and pictures go into `folder`, pictures into HEADRACE_SCREENSHOTS too, if that is set."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert program and driver, "Debian's packages chromium and chromium-driver are needed"
    options = ChromeOptions()
    options.binary_location = program
    for option in (*OPTIONS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    window = Chrome(options=options, service=Service(driver))
    try:
        window.set_page_load_timeout(PATIENCE_S)
        window.set_script_timeout(PATIENCE_S)
        wanted = os.environ.get("HEADRACE_SCREENSHOTS")
        yield Browser(window, [folder / "pictures", *([pathlib.Path(wanted)] if wanted else [])])
    finally:
        window.quit()
