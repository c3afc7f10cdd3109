"""`headrace verify` of the states that MLflow's client leaves."""

import pathlib
import random

import pytest
from mlflow import MlflowClient

from headrace import mlflow as plugin


@pytest.fixture
def states(file_url, tmp_path, monkeypatch) -> list[pathlib.Path]:
    """States of experiments, runs and models, with texts of every kind."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    plugin.register()
    client = MlflowClient(f"headrace+{file_url}")
    experiment = client.create_experiment("cats é \ud83d\ude00")
    run = client.create_run(experiment, run_name="first").info.run_id
    client.log_param(run, "zz_sha256", "version")
    client.log_param(run, "version", '2,"zz_sha256":"')
    client.set_tag(run, "lone", "\ud800")
    client.log_metric(run, "loss", 0.5)
    client.create_logged_model(experiment, name="net", source_run_id=run)
    client.create_registered_model("cats é", description='"version":2')
    client.create_model_version("cats é", "s3://elsewhere/net", tags={"version": "2"})
    client.log_text(run, "hello", "notes/00000001")
    client.set_terminated(run)
    folder = tmp_path / "store/_headrace/mlflow"
    found = sorted(path for path in folder.rglob("*") if path.is_file() and "artifacts" not in path.parts)
    kinds = {path.relative_to(folder).parts[0] for path in found}
    assert kinds == {"experiments", "runs", "models", "registry", "registered-models"}
    return found


def test_all_states_are_whole(headrace, file_url, states):
    done = headrace("verify", file_url)
    assert "recorded objects are as written" in done.stdout


def test_a_flipped_bit_in_any_state_is_found(headrace, file_url, states):
    chosen = random.Random(7)
    for state in states:
        good = state.read_bytes()
        for _ in range(4):
            place, bit = chosen.randrange(len(good)), chosen.randrange(8)
            state.write_bytes(good[:place] + bytes([good[place] ^ 1 << bit]) + good[place + 1 :])
            done = headrace("verify", file_url, check=False)
            assert done.returncode == 1 and f"BAD  {state.as_uri()}" in done.stdout, (state, place, bit)
        state.write_bytes(good)
    headrace("verify", file_url)


def test_a_state_that_is_missing_is_told(headrace, file_url, states):
    (first, second, *_) = (state for state in states if "runs" in state.parts[-3:])
    first.unlink()
    done = headrace("verify", file_url, check=False)
    assert done.returncode == 1
    assert f"BAD  {second.as_uri()}  the state before it is missing: the expected number is 1" in done.stdout
