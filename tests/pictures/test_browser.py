"""The page of ``interp report`` in a real browser."""

from __future__ import annotations

import json

import pytest

from interp.cli.main import run_command
from interp.datasets.examples import make_plane
from proofs.kernel.rational import coordinates_of
from tests.pictures.browser import CHROMIUM, Browser
from tests.strategies import sign

pytest.importorskip("plotly", reason="needs plotly (extra report)")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror='window.pwned=1'><b>&amp;${1}\u2028\u202e"
TOKENS = "document.getElementById('tokens').data[2]"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A page about a true claim and about a false one; a page of a hostile file; a page of a softmax claim."""
    folder = tmp_path_factory.mktemp("pages")
    data, good = folder / "plane.json", folder / "T.jsonl"
    assert run_command(["example", "plane", "-o", str(data)]) == 0
    assert run_command(["build", str(data), "-o", str(good)]) == 0
    assert run_command(["report", str(good), str(data), "-o", str(folder / "good.html"), "--quiet"]) == 0
    header, *blocks = good.read_text().splitlines()[:-1]
    record = json.loads(header)
    for phase in record["phases"]:
        phase["name"] = phase["lemma"] = HOSTILE
    record |= {"construction": HOSTILE, "dataset": HOSTILE, "generator": HOSTILE, "comment": {HOSTILE: HOSTILE}}
    hostile = folder / "<img src=x onerror='window.pwned=1'>.jsonl"
    hostile.write_bytes(sign([json.dumps(record), *blocks]))
    assert run_command(["report", str(hostile), str(data), "-o", str(folder / "hostile.html"), "--quiet"]) == 0
    wrong = json.loads(data.read_text())
    wrong["pairs"][1]["output"] = [[-2, 6]]
    (folder / "wrong.json").write_text(json.dumps(wrong))
    arguments = ["report", str(good), str(folder / "wrong.json"), "-o", str(folder / "wrong.html"), "--quiet"]
    assert run_command(arguments) == 10
    soft = folder / "S.jsonl"
    assert run_command(["build", str(data), "-o", str(soft), "--attention", "softmax"]) == 0
    arguments = [str(soft), str(data), "-o", str(folder / "soft.html"), "--attention", "softmax"]
    assert run_command(["report", *arguments, "--quiet"]) == 0
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


def load(browser, file):
    """Every page loads alone and without complaint."""
    browser.open(file)
    assert browser.requests == [file.as_uri()]
    assert browser.problems == []


def go_to(browser, frame):
    browser.run(
        f"(() => {{ const s = document.getElementById('slider'); s.value = {frame};"
        " s.dispatchEvent(new Event('input')); })()"
    )


def shown(browser):
    """Where the tokens are drawn: (sequence, x, y)."""
    found = browser.run(f"[{TOKENS}.text, {TOKENS}.x, {TOKENS}.y]")
    return {(int(text.split(",")[0].removeprefix("pair ")), x, y) for text, x, y in zip(*found, strict=True)}


def points_of(side):
    return {
        (j, *(int(x.p) / int(x.q) for x in coordinates_of(row)))
        for j, pair in enumerate(make_plane().pairs)
        for row in getattr(pair, side)
    }


def test_the_slider_moves_tokens_from_input_to_targets(browser, files):
    load(browser, files / "good.html")
    assert shown(browser) == points_of("input")
    last = int(browser.run("document.getElementById('slider').max"))
    places = []
    for frame in range(last + 1):
        go_to(browser, frame)
        places.append(frozenset(shown(browser)))
    assert places[-1] == points_of("output")
    assert len(set(places)) > last / 2
    assert "5 of 5 targets reached" in browser.run("document.getElementById('state').textContent")


def test_everything_is_reached_by_keyboard(browser, files):
    load(browser, files / "good.html")
    reached = []
    for _ in range(12):
        browser.press("Tab", 9)
        reached.append(browser.run("document.activeElement.id"))
    assert reached[:9] == ["play", "slider", "across", "up", "sequence", "fit", "log", "show-targets", "show-leaders"]
    browser.run("document.getElementById('slider').focus()")
    browser.press("ArrowRight", 39)
    assert browser.run("document.getElementById('slider').value") == "1"
    assert browser.run("document.getElementById('slider').getAttribute('aria-valuetext')").startswith("In block 1")


def test_play_runs_to_the_end(browser, files):
    load(browser, files / "good.html")
    last = int(browser.run("document.getElementById('slider').max"))
    go_to(browser, last - 1)
    browser.run("document.getElementById('play').click()")
    assert browser.run("document.getElementById('play').textContent") == "Pause"
    browser.wait("document.getElementById('play').textContent === 'Play'")
    assert int(browser.run("document.getElementById('slider').value")) == last
    browser.wait(f"{TOKENS}.x.includes(-2)")


def test_choices_change_the_picture(browser, files):
    load(browser, files / "good.html")
    before = shown(browser)
    choose = "(() => {{ const e = document.getElementById('{}'); e.{}; e.dispatchEvent(new Event('change')); }})()"
    browser.run(choose.format("sequence", "value = '1'"))
    assert shown(browser) == {place for place in before if place[0] == 1}
    browser.run(choose.format("log", "checked = true"))
    assert max(x for _, x, _ in shown(browser)) == pytest.approx(0.778, abs=0.001)  # log10(1 + 5)
    browser.run(choose.format("show-targets", "checked = false"))
    assert browser.run("document.getElementById('tokens').data[1].x.length") == 0
    text = browser.run("document.getElementById('attention-state').textContent")
    browser.run(choose.format("attending", "value = '2'"))
    assert browser.run("document.getElementById('attention-state').textContent") != text
    browser.run("document.querySelectorAll('.strip button')[2].click()")
    assert "(interpolation)" in browser.run("document.getElementById('state').textContent")


def test_a_phone_needs_no_sideways_scrolling(browser, files):
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
    try:
        load(browser, files / "wrong.html")
        assert browser.run("document.documentElement.scrollWidth") <= 390
        assert browser.run("document.getElementById('tokens').clientWidth") > 300
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")


def test_the_page_follows_light_and_dark(browser, files):
    load(browser, files / "good.html")
    back, ink = "getComputedStyle(document.body).backgroundColor", "document.getElementById('tokens').layout.font.color"
    assert (browser.run(back), browser.run(ink)) == ("rgb(255, 255, 255)", "#1b1f24")
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    try:
        browser.wait(f"{back} === 'rgb(13, 17, 23)' && {ink} === '#e6edf3'")
    finally:
        browser.call("Emulation.setEmulatedMedia", features=[])


def test_a_refutation_opens_at_the_wrong_pair(browser, files):
    load(browser, files / "wrong.html")
    assert "REFUTED" in browser.run("document.querySelector('.verdict .word').textContent")
    assert browser.run("document.getElementById('sequence').value") == "1"
    assert shown(browser) == {(1, -2, 5)}
    text = browser.run("document.querySelector('[aria-labelledby=h-failure]').innerText")
    assert "(-2, 6)" in text
    assert "(-2, 5)" in text
    assert "broken" in text
    assert "separation" in text


def test_text_of_a_hostile_file_stays_text(browser, files):
    load(browser, files / "hostile.html")
    assert browser.run("typeof window.pwned") == "undefined"
    assert browser.run("document.querySelectorAll('img, b, iframe').length") == 0
    assert browser.run("document.querySelectorAll('script').length") == 3
    assert browser.run("document.querySelector('h1').textContent").startswith("<img src=x onerror=")
    labels = browser.run("document.querySelector('.strip button').textContent")
    assert labels.startswith("</script><script>window.pwned=1</script>")
    for frame in range(3):
        go_to(browser, frame)
    assert browser.run("typeof window.pwned") == "undefined"


def test_no_script_or_request_beside_those_of_the_page(browser, files):
    """Even an element that got in would not run: the policy names the digests of the two scripts."""
    load(browser, files / "good.html")
    browser.run(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.pwned = 1';"
        " document.body.append(s); const i = document.createElement('div');"
        " i.innerHTML = '<img src=x onerror=\"window.pwned = 1\">'; document.body.append(i); })()"
    )
    assert browser.run("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')") == "refused"
    assert browser.run("typeof window.pwned") == "undefined"
    assert any("Content Security Policy" in problem for problem in browser.problems)


def test_a_softmax_page_says_what_its_positions_are(browser, files):
    load(browser, files / "soft.html")
    assert "centers of boxes" in browser.run("document.body.innerText")
    last = browser.run("document.getElementById('slider').max")
    go_to(browser, last)
    assert shown(browser) == points_of("output")
