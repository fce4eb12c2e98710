"""Driving the annotation page in a browser."""

from requirements import require

__all__ = ["launch_browser", "painted", "sign_in", "start"]

QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--force-color-profile=srgb",
)  # fmt: skip


def launch_browser(playwright):
    """Start the system's Chromium."""
    program = require("chromium", "chromium-browser", "google-chrome")
    return playwright.chromium.launch(executable_path=program, args=list(QUIET))


def sign_in(page, url, name, program=False):
    """Sign in, say how one looks at the screen, and stop before the first image."""
    page.set_default_timeout(60_000)
    page.goto(url)
    page.fill("#name", name)
    if program:
        page.click("summary")
        page.check("input[name=simulated]")
    page.click("button.main")
    page.fill("#distance_cm", "60")
    page.check("input[value=dim]")
    page.check("input[name=calibrated][value=no]")
    page.click("#conditions button.main")


def start(page):
    """Begin, up to the first image; its token."""
    page.wait_for_selector("#go:visible")
    page.keyboard.press("Enter")
    return painted(page)


def painted(page, after=None):
    """Wait until another image than this is on the screen and can be answered; its token."""
    page.wait_for_selector(f'body[data-painted]:not([data-painted="{after}"])[data-state="open"]')
    page.wait_for_timeout(200)  # keys sooner than 150 ms after the image are ignored
    return page.get_attribute("body", "data-painted")
