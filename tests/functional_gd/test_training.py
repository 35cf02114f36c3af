"""Training, where torch is installed: the model is the one that is checked, and training lowers the loss."""

from __future__ import annotations

import sys

import pytest
from flint import arb, ctx, fmpq, fmpq_mat

from interp.functional_gd import training
from proofs.functional_gd.forward import run_forward
from proofs.functional_gd.model import Head, Transformer, parse_activation
from proofs.kernel.errors import UsageError
from tests.functional_gd.contexts import THREE


@pytest.fixture
def torch():
    module = pytest.importorskip("torch", reason="torch is not installed: training is optional", exc_type=ImportError)
    module.set_num_threads(1)  # no threads that a later fork would leave behind
    return module


@pytest.mark.parametrize("name", ["linear", "relu", "exp", "softmax"])
def test_the_trained_model_is_the_checked_one(torch, name):
    matrices = {"A": [[0, 1], [-1, 2]], "B": [[1, 2], [0, 1]], "C": [[1, -1], [1, 1]]}
    head = Head(
        parse_activation(name),
        *(fmpq_mat([[fmpq(x, 4) for x in row] for row in matrices[key]]) for key in "BCA"),
        fmpq(-1, 4),
    )
    with ctx.workprec(100):
        *_, last = run_forward(Transformer(2, ((head,), (head,))), THREE, arb)
        expected = float(-last[-1][-1])
    weights = {key: [torch.tensor(rows, dtype=torch.float64) / 4] * 2 for key, rows in matrices.items()}
    weights["rho"] = [torch.tensor(-0.25, dtype=torch.float64)] * 2
    points = [[float(x.p) / float(x.q) for x in point] for point in (*THREE.points, THREE.query)]
    labels = [float(y.p) / float(y.q) for y in THREE.labels]
    X, Y = (torch.tensor([value], dtype=torch.float64) for value in (points, labels))
    assert float(training.approx_forward(torch, name, X, Y, weights)) == pytest.approx(expected, rel=1e-12)


def test_training_lowers_the_loss_and_is_reproducible(torch):
    first, again = (
        training.train("linear", "linear", 1, False, updates=150, dimension=2, num_points=6, batch=64) for _ in range(2)
    )
    assert first == again
    assert first.last_loss < first.first_loss / 2
    assert first.score_distances[0] < first.start_distance
    assert first.value_distances == (0,)


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match="torch is not installed"):
        training.train("linear", "linear", 1, False, updates=1, dimension=2, num_points=6, batch=1)
