"""The page at `/` of `headrace serve`, in a browser: what it shows, and the form that asks a model."""

import base64
import http.client
import json
import os
import re
import shlex
import subprocess

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest
import tensorflow as tf
from browser_support import chromium
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from serve_models import HalfPlusTwo, Rater, instance_of, rows_of, train_people
from serve_support import ask, serving
from tensorboard_support import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tracing_environment")]

HOSTILE = "<img src=x onerror=\"document.title = 'taken over'\">'$(touch taken)`"


class Hostile(tf.Module):
    """Its answer is HTML, whatever one asks."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def answer(self, text):
        return {"html": tf.fill(tf.shape(text), HOSTILE)}

    def save(self, folder) -> None:
        tf.saved_model.save(self, str(folder), signatures={"serving_default": self.answer})


@pytest.fixture(scope="module")
def place(headrace, tmp_path_factory):
    return train_people(headrace, tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
def server(build, place, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    HalfPlusTwo().save(folder / "half_plus_two/123")
    HalfPlusTwo(3).save(folder / "half_plus_two/124")
    Hostile().save(folder / "hostile/1")
    Rater().save(folder / "rater/1")
    hostile = f"<b>hostile={folder / 'hostile'}"
    words = [place / "models/people", folder / "half_plus_two", folder / "rater", hostile]
    with serving(build, tmp_path_factory.mktemp("server"), *words, "--versions", "latest:2") as running:
        states = lambda: str(running.models())  # noqa: E731
        running.wait_until(lambda: states().count("'ready'") == 5)
        yield running


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def choose(browser, name: str, text: str) -> None:
    script = "return find(`#${arguments[0]} option`).some((each) => each.textContent === arguments[1])"
    wait_until(lambda: browser.run(script, name, text), f"{name} offers {text}")
    Select(browser.driver.find_element("id", name)).select_by_visible_text(text)


def trial(browser, model: str, signature: str = "serving_default", version: str = "") -> None:
    """Fills the choices of the form; its fields are those of the signature afterwards."""
    choose(browser, "model", model)
    if version:
        choose(browser, "version", version)
    choose(browser, "signature", signature)


def shown_answer(browser, status: str = "Answer") -> dict:
    browser.wait_for("#answer-status", status)
    return json.loads(browser.wait_for("#answer pre").text)


def ask_by_command(browser, folder) -> dict:
    """The answer of the shown command, run by a shell."""
    command = browser.wait_for("#command").text
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, check=True, timeout=60)
    return json.loads(done.stdout)


@pytest.mark.exhaustive
def test_a_person_sees_models_and_traffic_and_asks_one(browser, server, place, tmp_path):
    browser.open(server.url)
    browser.wait_for("#models h2", "half_plus_two")
    assert browser.texts("#models h2") == ["<b>hostile", "half_plus_two", "people", "rater"]
    assert browser.texts("#models section:nth-child(2) tbody tr td:nth-child(-n+3)") == [
        *("123", "ready", "–"),
        *("124", "ready", "latest"),
    ]
    browser.wait_for("#models p", "No request has come yet.")

    trial(browser, "half_plus_two")
    body = browser.wait_for("#body")
    assert json.loads(body.get_attribute("value")) == {"inputs": {"x": [0]}}
    body.clear()
    body.send_keys('{"instances": [1, 2.5, NaN]}', Keys.TAB, Keys.ENTER)  # no mouse is needed
    browser.wait_for("#answer-status", "Answer")
    assert browser.texts("#answer pre") == ['{ "predictions": [3.5,4.25,NaN] }']
    assert ask_by_command(browser, tmp_path)["predictions"][:2] == [3.5, 4.25]

    choose(browser, "version", "123")
    browser.click("#ask")
    browser.wait_for("#answer pre", "[2.5,3.25,NaN]")
    body.clear()
    body.send_keys('{"instances": ["x"]}')
    browser.click("#ask")
    assert "instance 0" in shown_answer(browser, "Refused with status 400")["error"]
    assert browser.count("#answer.refused") == 1

    browser.wait_for("#models p", "errors: 1 with status 400")
    for name in ("requests/s", "median", "p99", "rows/batch"):
        fact = browser.wait_for("#models section:nth-child(2) .facts div", name).text
        assert re.match(r"[1-9]|0\.0*[1-9]", fact), fact
    browser.wait_for("svg.spark")
    browser.keep("serve-page-traffic")
    assert browser.errors() == [
        f"{server.url}/v1/models/half_plus_two/versions/123:predict - Failed to load resource: "
        "the server responded with a status of 400 (Bad Request)"
    ]


def test_every_signature_has_a_form_that_can_be_sent_as_it_is(browser, server):
    browser.open(server.url)
    for signature, answer in (
        ("mixed", {"doubled": [[[0], [0]]], "is_long": [False], "lower": [""], "raw_bytes": [{"b64": ""}]}),
        ("total", 0),
    ):
        trial(browser, "half_plus_two", signature)
        browser.wait_for("#fields p", "It answers with")
        browser.wait_for("#body")
        browser.click("#ask")
        key = "doubled" if signature == "mixed" else "0.0"
        browser.wait_for("#answer pre", key)
        assert shown_answer(browser) == {"outputs": answer}
    assert browser.errors() == []


def test_signatures_of_examples_are_asked_with_examples(browser, server, tmp_path):
    browser.open(server.url)
    for signature, results in (("serving_default", [[["nobody", 0.5], ["other", 0.5]]]), ("regress", [1.5])):
        trial(browser, "rater", signature)
        browser.wait_for("#fields label", "tf.Examples")
        body = browser.wait_for("#body")
        document = json.loads(body.get_attribute("value"))
        assert document["examples"] == [{"feature": 0.5}]
        body.clear()
        body.send_keys(json.dumps({**document, "examples": [{"age": 1.0}]}))
        browser.click("#ask")
        browser.wait_for("#answer pre", "nobody" if signature == "serving_default" else "1.5")
        assert shown_answer(browser) == ask_by_command(browser, tmp_path) == {"results": results}
    assert browser.errors() == []


def test_raw_rows_have_a_field_for_each_column_and_a_command_that_reads_the_image(
    browser, server, place, tmp_path
):
    row = next(row for row in rows_of(place, 20) if row["age"] and row["about"])
    _, expected = server.predict("people", {"instances": [instance_of(row)]})
    image = tmp_path / "it's $HOME.jpg"
    image.write_bytes(base64.b64decode(instance_of(row)["photo"]["b64"]))
    browser.open(server.url)
    trial(browser, "people")
    browser.wait_for("#fields label", "photo")
    labels = browser.texts("#fields label")
    values = {"age": str(row["age"]), "city": row["city"], "about": row["about"], "photo": str(image)}
    for i, label in enumerate(labels):
        browser.driver.find_element("id", f"column-{i}").send_keys(values.get(label.split()[0], ""))
    assert {label.split()[0] for label in labels} >= set(values)
    browser.click("#ask")
    assert shown_answer(browser) == expected
    assert ask_by_command(browser, tmp_path) == expected
    assert browser.errors() == []
    browser.keep("serve-page")
    browser.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    browser.keep("serve-page-dark")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.driver.set_window_size(400, 900)
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    browser.keep("serve-page-narrow")
    browser.driver.set_window_size(1400, 900)


def test_names_and_answers_of_a_model_are_text(browser, server, tmp_path):
    browser.open(server.url)
    trial(browser, "<b>hostile")
    body = browser.wait_for("#body")
    body.clear()
    body.send_keys(json.dumps({"inputs": {"text": [HOSTILE]}}))
    browser.click("#ask")
    assert shown_answer(browser) == {"outputs": [HOSTILE]}
    assert browser.count("img") == browser.count("b:not(.facts b)") == 0
    assert browser.driver.title == "Served models"
    command = browser.wait_for("#command").text
    assert shlex.split(command)[:2] == ["curl", "-d"]
    assert ask_by_command(browser, tmp_path) == {"outputs": [HOSTILE]}
    assert not (tmp_path / "taken").exists()
    assert browser.errors() == []


@pytest.mark.exhaustive
def test_a_server_that_ends_and_comes_back_is_told_from_a_quiet_one(browser, build, tmp_path):
    (tmp_path / "half").mkdir()
    with serving(build, tmp_path / "server", tmp_path / "half") as server:
        browser.open(server.url)
        browser.wait_for("#models p", "No version was found yet")
        browser.wait_for("#trial-note", "No version is ready")
        assert not browser.driver.find_element("id", "ask").is_enabled()
        HalfPlusTwo().save(tmp_path / "half/1")
        browser.wait_for("#body")
        assert browser.driver.find_element("id", "ask").is_enabled()
        assert browser.errors() == []
    browser.wait_for("#connection", "The server does not answer")
    browser.wait_for("#models.old h2", "half")
    browser.click("#ask")
    browser.wait_for("#answer-status", "No answer")
    browser.errors()


# Security


def fetch(server, path: str, method: str = "GET", headers: dict | None = None):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    return answer, answer.read().decode()


def test_the_document_allows_nothing_but_itself(server):
    answer, text = fetch(server, "/")
    policy = dict(each.strip().split(" ", 1) for each in answer.headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["form-action"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert policy["script-src"].startswith("'sha256-") and policy["style-src"].startswith("'sha256-")
    assert "http:" not in text.replace("http://www.w3.org/2000/svg", "") and "https:" not in text
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    head, nothing = fetch(server, "/", "HEAD")
    assert (head.status, head.headers["Content-Length"], nothing) == (200, str(len(text.encode())), "")
    assert fetch(server, "/", "POST")[0].status == 405
    assert fetch(server, "/page/nothing")[0].status == 404
    assert fetch(server, "/page/signatures/nobody/1")[0].status == 404
    assert fetch(server, "/page/signatures/people/x")[0].status == 400


@pytest.mark.exhaustive
def test_a_token_shows_only_its_models(browser, build, tmp_path):
    HalfPlusTwo().save(tmp_path / "half/1")
    HalfPlusTwo().save(tmp_path / "other/1")
    everything, other = "a" * 24, "b" * 24
    (tmp_path / "tokens").write_text(f"{everything}\n{other} other\n")
    words = [tmp_path / "half", tmp_path / "other", "--tokens", tmp_path / "tokens"]
    with serving(build, tmp_path / "server", *words) as server:
        server.wait_until_ready()
        bearer = {"Authorization": f"Bearer {other}"}
        assert fetch(server, "/")[0].status == 200
        for path in ("/page/state", "/page/signatures/other/1"):
            assert fetch(server, path)[0].status == 401
        _, state = fetch(server, "/page/state", headers=bearer)
        assert [model["name"] for model in json.loads(state)["models"]] == ["other"]
        assert fetch(server, "/page/signatures/other/1", headers=bearer)[0].status == 200
        assert fetch(server, "/page/signatures/half/1", headers=bearer)[0].status == 403

        browser.open(server.url)
        browser.wait_for("#token-reason", "asks for a token")
        browser.keep("serve-page-token")
        browser.driver.find_element("id", "token").send_keys("wrong" * 5, Keys.ENTER)
        browser.wait_for("#token-reason", "refuses the token")
        browser.driver.find_element("id", "token").send_keys(everything, Keys.ENTER)
        browser.wait_for("#models h2", "other")
        trial(browser, "half")
        browser.wait_for("#body")
        browser.click("#ask")
        assert shown_answer(browser) == {"outputs": [2.0]}
        command = browser.wait_for("#command").text
        assert everything not in command and "Bearer TOKEN" in command
        browser.errors()


def test_a_server_may_have_no_page(build, tmp_path):
    HalfPlusTwo().save(tmp_path / "half/1")
    with serving(build, tmp_path / "server", tmp_path / "half", "--no-page") as server:
        assert ask(f"{server.url}/")[0] == 400
        assert ask(f"{server.url}/page/state")[0] == 400
