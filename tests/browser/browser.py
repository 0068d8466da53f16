"""A real headless Chromium for tests of pages, by selenium: one start for a whole suite, a profile of its own that goes with
it, and what a page must not do kept in sight: complaints on the console, and requests that leave the page."""
import base64
import json
import os
import shutil
import sys
import tempfile
import time
import traceback

SKIP = 77  # what meson takes for a skipped test

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = Keys = None

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRIVERS = ("chromedriver", "chromium.chromedriver")
DESKTOP, PHONE = (1280, 900), (375, 740)


def find(names):
    return next((path for path in map(shutil.which, names) if path), None)


def missing():
    """Why there is no browser to test with; None: there is one."""
    if not webdriver:
        return "selenium is not installed (Debian: python3-selenium)"
    if not find(BROWSERS):
        return "Chromium is not installed (Debian: chromium)"
    if not find(DRIVERS):
        return "its driver is not installed (Debian: chromium-driver)"
    return None


PATIENCE = 5

class Browser:
    """with Browser() as b: b.open(path); b.js("return ...") ..."""

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="rb-browser-")
        options = Options()
        options.binary_location = find(BROWSERS)
        for flag in ("--headless=new", "--user-data-dir=" + self.profile, "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--disable-background-networking", "--disable-component-update",
                     "--disable-sync", "--hide-scrollbars", "--force-device-scale-factor=1"):
            options.add_argument(flag)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")  # Chromium's sandbox refuses to work for root
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        try:
            self.driver = webdriver.Chrome(options=options, service=Service(find(DRIVERS)))
        except Exception:
            shutil.rmtree(self.profile, ignore_errors=True)
            raise
        self.driver.set_script_timeout(20)
        self.driver.set_page_load_timeout(20)
        self.media = {}
        self.size(DESKTOP)
        return self

    def __exit__(self, *_):
        self.driver.quit()
        shutil.rmtree(self.profile, ignore_errors=True)

    # --- the page

    def open(self, page):
        """page: a file's path, or a URL. What was logged before is forgotten."""
        self.forget()
        self.driver.get(page if "://" in page else "file://" + os.path.abspath(page))
        return self

    def js(self, script, *args):
        return self.driver.execute_script(script, *args)

    def wait(self, condition, seconds=10):
        """The value of a JavaScript expression, as soon as it is true; AssertionError where it never is. `seconds` are those of a
        quiet machine: a browser that shares two cores with eight busy programs takes five times as long."""
        seconds *= PATIENCE
        ends = time.monotonic() + seconds
        while True:
            value = self.js("return (" + condition + ")")
            if value:
                return value
            if time.monotonic() > ends:
                raise AssertionError("after %g s it is still not so: %s" % (seconds, condition))
            time.sleep(0.02)

    def keys(self, *keys):
        """Types where the focus is."""
        self.driver.switch_to.active_element.send_keys(*keys)

    def focus(self, selector):
        self.js("document.querySelector(arguments[0]).focus()", selector)

    def table(self, selector):
        """A table's cells as they are read, row by row, without its head."""
        return self.js("return Array.from(document.querySelectorAll(arguments[0] + ' tbody tr'), function (row) {"
                       "  return Array.from(row.cells, function (cell) { return cell.textContent; }); })", selector)

    def chart(self, name):
        """The option that is drawn: names of series, and of each the data's values and words."""
        return self.js("""
            var name = arguments[0], chart = rb_page.charts.filter(function (c) { return c.name === name; })[0];
            return chart.option.series.map(function (s) {
                return {name: s.name, data: s.data.map(function (d) { return {value: d.value, name: d.name}; })};
            });""", name)

    # --- how it is looked at

    def size(self, size):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 500})

    def emulate(self, **features):
        """emulate(prefers_color_scheme="dark", prefers_reduced_motion="reduce"); "" takes one back."""
        self.media.update((name.replace("_", "-"), value) for name, value in features.items())
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": name, "value": value} for name, value in self.media.items()]})

    def screenshot(self, path):
        """The whole page, as wide as the window."""
        width, height = self.js("return [innerWidth, document.scrollingElement.scrollHeight]")
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}})
        with open(path, "wb") as f:
            f.write(base64.b64decode(shot["data"]))

    def pdf(self):
        """The bytes of the page as it is printed on A4."""
        made = self.driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69,
                                                                "printBackground": True})
        return base64.b64decode(made["data"])

    # --- what it must not do

    def forget(self):
        self.driver.get_log("browser")
        self.driver.get_log("performance")

    def complaints(self):
        """Console entries, violations of the page's policy included, since the page was opened or this was asked."""
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """Addresses asked for since the page was opened or this was asked, the page itself included."""
        messages = (json.loads(e["message"])["message"] for e in self.driver.get_log("performance"))
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


def main(suite):
    """Runs suite(browser), or says in words why it cannot and exits as a skipped test does."""
    why = missing()
    if why:
        print("skipped: " + why)
        sys.exit(SKIP)
    with Browser() as browser:
        suite(browser)


def run(checks, *args):
    """Every check(*args) in order, each announced by its name; the exit code is 1 where one failed."""
    failed = 0
    for check in checks:
        begun = time.monotonic()
        try:
            check(*args)
            print("ok      %-60s %5.2f s" % (check.__name__.replace("_", " "), time.monotonic() - begun))
        except Exception:  # the others run as well
            failed += 1
            print("FAILED  " + check.__name__.replace("_", " "))
            traceback.print_exc(file=sys.stdout)
    print("%d checks, %d failed" % (len(checks), failed))
    if failed or not checks:
        sys.exit(1)
