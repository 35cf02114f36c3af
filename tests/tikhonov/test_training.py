"""Training, where torch is installed: it computes what is measured, minimises what is claimed, and is reproducible."""

from __future__ import annotations

import json

import pytest
from flint import fmpq

from interp.cli.main import run_command
from interp.datasets.encode import encode_dataset_json
from interp.norm.rescaling import rescale
from interp.tikhonov import report
from interp.tikhonov.experiment import Experiment, run_experiment
from interp.tikhonov.loss import enclose_loss
from interp.tikhonov.model import Architecture, dense_norm, transformer_of
from interp.tikhonov.training import Schedule, approx_forward, approx_loss, draw_weights, make_batch, train
from interp.tikhonov.yardstick import Diagnosis, find_interpolant
from proofs.kernel.errors import UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.rational import parse_rational
from tests.strategies import make_dataset

DATA = make_dataset(
    ([[0, 0], [1, 0], [1, 1]], [[1, 1], [0, 1]]), ([[0, 0], [2, 1]], [[1, 0]]), ([[1, 0]], [["1/3", "1/7"]])
)
TAU = fmpq(3, 4)
ARCHITECTURE = Architecture(2, 2, 3, TAU)


@pytest.fixture(scope="module")
def torch():
    module = pytest.importorskip("torch", reason="torch is not installed: training is optional", exc_type=ImportError)
    module.set_num_threads(1)  # no threads that a later fork would leave behind
    return module


@pytest.mark.parametrize("seed", range(3))
def test_the_trained_loss_is_the_certified_one(torch, seed):
    theta = draw_weights(torch, ARCHITECTURE, seed)
    batch = make_batch(torch, DATA)
    found = float(approx_loss(torch, approx_forward(torch, theta, batch.X, batch.X_mask, 0.75), batch))
    exact = transformer_of({name: value.tolist() for name, value in theta.items()}, 2)
    loss = enclose_loss(DATA, exact, TAU)
    assert int(loss.lower.p) / int(loss.lower.q) == pytest.approx(found, rel=1e-6)
    assert found > 0


def test_the_penalty_is_torch_weight_decay_with_twice_eps(torch):
    eps, steps = 0.03, 5
    run = train(DATA, ARCHITECTURE, eps, Schedule(steps, 0.05, seed=1))
    theta = draw_weights(torch, ARCHITECTURE, 1)
    parameters = [value.requires_grad_(True) for value in theta.values()]
    optimiser = torch.optim.Adam(parameters, lr=0.05, weight_decay=2 * eps)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    batch = make_batch(torch, DATA)
    losses = []
    for _ in range(steps + 1):
        loss = approx_loss(torch, approx_forward(torch, theta, batch.X, batch.X_mask, 0.75), batch)
        optimiser.zero_grad()
        loss.backward()
        losses.append(float(loss.detach()))
        optimiser.step()
        schedule.step()
    assert run.losses == pytest.approx(losses, rel=1e-9)


def test_training_lowers_the_objective_and_is_reproducible(torch):
    first, again = (train(DATA, ARCHITECTURE, 0.01, Schedule(80, 0.05)) for _ in range(2))
    assert first == again
    objectives = first.objectives
    assert min(objectives) == objectives[first.best_epoch] < objectives[0] / 2
    assert train(DATA, ARCHITECTURE, 0.01, Schedule(80, 0.05, seed=1)) != first
    resumed = train(DATA, ARCHITECTURE, 0.01, Schedule(0), start=first.weights)
    assert resumed.objectives[0] == pytest.approx(min(objectives), rel=1e-12)
    assert resumed.weights == first.weights


@pytest.fixture(scope="module")
def experiment(torch):
    interpolant, architecture = find_interpolant(DATA, fmpq(1), 4)
    eps = [fmpq(1, 10**6), fmpq(1, 2)]
    return run_experiment(DATA, architecture, interpolant, eps, [0, 1], Schedule(60, 0.03, continuation=True))


def test_an_experiment(experiment: Experiment):
    assert [item.eps for item in experiment.runs] == [fmpq(1, 2)] * 2 + [fmpq(1, 10**6)] * 2
    for item in experiment.runs:
        loss = enclose_loss(DATA, item.transformer, fmpq(1))
        assert item.objective.lower == loss.lower + item.eps * item.point.squares
        approximate = min(item.run.objectives)
        assert int(item.objective.upper.p) / int(item.objective.upper.q) == pytest.approx(approximate, rel=1e-6)
        assert item.threshold == item.eps * experiment.interpolant.point.squares
        assert (item.diagnosis is Diagnosis.ABOVE) == (item.objective.lower > item.threshold)
        blocks = rescale(item.transformer.blocks, 2, True, "dense")
        rescaled = Transformer(2, blocks)
        assert item.rescaled == dense_norm(rescaled) <= item.point.squares
        assert 0 <= item.excess < 1
        moved = enclose_loss(DATA, rescaled, fmpq(1))  # the same function: the enclosures of its loss overlap
        assert moved.lower <= loss.upper
        assert loss.lower <= moved.upper
    # sixty steps do not reach 10^-6 |theta*|^2, and at 1/2 no run is far above theta = 0
    assert {item.diagnosis for item in experiment.runs[2:]} == {Diagnosis.ABOVE}
    assert {item.diagnosis for item in experiment.runs[:2]} <= {Diagnosis.CONSISTENT, Diagnosis.BEATEN}
    assert experiment.runs[2].run.losses[0] == pytest.approx(min_loss(experiment.runs[0].run), rel=1e-12)
    slope, _ = experiment.approx_slopes()
    assert 0 < slope < 1.5


def min_loss(run):
    return run.losses[run.best_epoch]


def test_the_record(experiment: Experiment):
    record = json.loads(json.dumps(report.make_record(experiment)))
    for written, item in zip(record["runs"], experiment.runs, strict=True):
        low, high = (parse_rational(end) for end in written["objective"])
        assert low <= item.objective.lower <= item.objective.upper <= high
        assert high - low <= high / 10**5
        assert len(written["history"]["epoch"]) == len(written["history"]["approx_objective"])
        assert written["history"]["epoch"][-1] == 60
    head, tail = report.describe(experiment)
    assert "verified" in head
    assert "no global minimiser" in tail
    assert len(report.list_rows(experiment)) == 4


def test_the_drawing(experiment: Experiment):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: drawings are optional")
    drawing = report.draw(report.make_record(experiment))
    assert drawing.startswith(b"<?xml")
    assert drawing.count(b'id="axes_') == 3  # one for each eps, one over all runs


@pytest.mark.parametrize("value", [fmpq(0), fmpq(1, 3), fmpq(10**40, 7**60), fmpq(-(10**40), 7**10), fmpq(-1, 3**90)])
def test_ends_are_rounded_down_to_few_bits(value):
    found = report.round_down(value)
    assert found <= value <= found + abs(value) / 2**60
    assert min(int(found.p).bit_length(), int(found.q).bit_length()) <= 70


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.json"
    path.write_bytes(encode_dataset_json(DATA))
    return path


def test_the_command(torch, tmp_path, data, capsys):
    out, folder = tmp_path / "r.json", tmp_path / "weights"
    arguments = ["tikhonov", str(data), "--weight-decay", "1/5", "--seeds", "2", "--epochs", "20", "-o", str(out)]
    assert run_command([*arguments, "--save", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "eps |theta*|^2" in text
    record = json.loads(out.read_text())
    assert [run["eps"] for run in record["runs"]] == ["1/10"] * 2
    assert len(list(folder.iterdir())) == 2
    before = out.read_bytes()
    assert run_command(arguments) == 0
    assert out.read_bytes() == before
    capsys.readouterr()
    assert run_command(["norm", str(folder / "run-1.jsonl"), "--json"]) == 0
    saved = parse_rational(json.loads(capsys.readouterr().out)["dense"])
    low, high = map(parse_rational, record["runs"][0]["norm"])
    assert low <= saved <= high


@pytest.mark.parametrize(
    "options",
    [
        ["--eps", "0"],
        ["--eps", "1,-1"],
        ["--eps", "1,1.0"],
        ["--eps", "1", "--weight-decay", "1"],
        ["--temperature", "0"],
        ["--blocks", "1"],
    ],
)
def test_bad_options(torch, data, options, tmp_path, capsys):
    out = tmp_path / "r.json"
    assert run_command(["tikhonov", str(data), "--epochs", "1", "-o", str(out), *options]) == 2
    assert capsys.readouterr().err
    assert not out.exists()


def test_numbers_beyond_doubles(torch):
    with pytest.raises(UsageError, match="pair 0: a token beyond"):
        make_batch(torch, make_dataset(([[10**400, 0]], [[0, 0]])))


def test_a_diverging_run_is_an_error(torch):
    huge = make_dataset(([[10**200, 0]], [[0, 0]]))
    with pytest.raises(UsageError, match="not a finite number"):
        train(huge, ARCHITECTURE, 0.1, Schedule(3))
