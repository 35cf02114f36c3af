"""A model that PyTorch trained is imported, refuted exactly and measured; an exact one survives the way through floats."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from interp.cli.main import run_command
from tests.export.cases import need
from tests.strategies import dataset_bytes, make_dataset, transformer_bytes

DATA = make_dataset(([[0, 1], [1, 2]], [[1, 0]]), ([[1, 1], [0, 1], [2, 2]], [[0, 1]]))


@pytest.fixture
def torch():
    need("torch", "safetensors")
    import torch

    torch.set_num_threads(1)  # no threads that a later fork would leave behind
    return torch


def record(capsys, *arguments, code=0):
    capsys.readouterr()
    assert run_command([*map(str, arguments), "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("temperature", "claim"), [(0.0, "0"), (1.0, "1")])
def test_a_trained_model_is_refuted_with_its_distances(torch, tmp_path, capsys, temperature, claim):
    from interp.export import torch_module

    generator = torch.Generator().manual_seed(0)
    model = torch_module.random_transformer(2, 2, 4, temperature, generator=generator)
    inputs = [torch.tensor([[float(c) for c in row[:-1]] for row in pair.input]) for pair in DATA.pairs]
    targets = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    tokens, mask = torch_module.pad(inputs, model.dtype)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.02), []
    for _ in range(150):
        optimizer.zero_grad()
        loss = (((model(tokens, mask) - targets[:, None]) ** 2).sum(2) * mask).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10
    torch_module.save(model, tmp_path / "m.safetensors")
    (tmp_path / "D.json").write_bytes(dataset_bytes(DATA))
    imported = tmp_path / "T.jsonl"
    record(capsys, "import", "torch", tmp_path / "m.safetensors", "-o", imported)
    answer = record(capsys, "verify", imported, tmp_path / "D.json", "--temperatures", claim, code=10)
    assert answer["verdict"] == "refuted"
    found = record(capsys, "distance", imported, tmp_path / "D.json", "--temperatures", claim)
    outputs = model(tokens, mask).detach().numpy()
    for entry, output, target, size in zip(found["pairs"], outputs, targets.numpy(), mask.sum(1).tolist(), strict=True):
        if temperature == 0:
            exact = Fraction(entry["squared_hausdorff"])
        else:
            lower, exact = map(Fraction, entry["squared_hausdorff_enclosure"])
            assert 0 < lower <= exact
        approximate = max(((token - target) ** 2).sum() for token in output[:size])
        assert exact > 0
        assert float(exact) == pytest.approx(approximate, rel=1e-6, abs=1e-12)


def test_a_model_of_the_exported_class_round_trips(torch, tmp_path, capsys):
    from interp.export import torch_module

    for dtype, name in ((torch.float64, "float64"), (torch.float32, "float32")):
        model = torch_module.random_transformer(3, 4, 5, dtype=dtype, generator=torch.Generator().manual_seed(1))
        torch_module.save(model, tmp_path / "m.safetensors")
        record(capsys, "import", "torch", tmp_path / "m.safetensors", "-o", tmp_path / "T.jsonl")
        report = record(
            capsys, "export", tmp_path / "T.jsonl", "-o", tmp_path / "n.py", "--to", "torch", "--dtype", name
        )
        assert report["rounded"] == 0
        again = torch_module.load(tmp_path / "n.safetensors").state_dict()
        assert again.keys() == model.state_dict().keys()
        for key, value in model.state_dict().items():
            assert again[key].dtype == value.dtype
            assert torch.equal(again[key], value), key


def test_half_precision_is_imported_exactly(torch, tmp_path, capsys):
    from interp.export import torch_module

    for dtype in (torch.bfloat16, torch.float16):
        model = torch_module.random_transformer(2, 1, 2, dtype=dtype, generator=torch.Generator().manual_seed(1))
        torch_module.save(model, tmp_path / "m.safetensors")
        record(capsys, "import", "torch", tmp_path / "m.safetensors", "-o", tmp_path / "T.jsonl")
        record(capsys, "export", tmp_path / "T.jsonl", "-o", tmp_path / "n.py", "--to", "torch", "--dtype", "float32")
        again = torch_module.load(tmp_path / "n.safetensors").state_dict()
        assert all(torch.equal(again[key], value.to(again[key].dtype)) for key, value in model.state_dict().items())


@pytest.mark.parametrize("kind", ["torch", "numpy"])
def test_an_exact_model_is_still_verified_after_floats(tmp_path, capsys, kind):
    if kind == "torch":
        need("safetensors")
    block = {
        "ff": {"eta": 1, "W": [[0], ["1/2"]], "U": [[0, 0]], "b": [2]},
        "sa": {"rho": 0, "A": {"p": [1, 0], "q": [0, 1]}, "V": {"beta": 1}},
    }
    (tmp_path / "T.jsonl").write_bytes(transformer_bytes(2, [block]))
    (tmp_path / "D.json").write_bytes(dataset_bytes(make_dataset(([[0, 0], [3, 0], [3, 1]], [[3, "3/2"]]))))
    record(capsys, "export", tmp_path / "T.jsonl", "-o", tmp_path / "m.py", "--to", kind)
    weights = tmp_path / ("m.safetensors" if kind == "torch" else "m.npz")
    record(capsys, "import", kind, weights, "-o", tmp_path / "again.jsonl")
    answer = record(capsys, "verify", tmp_path / "again.jsonl", tmp_path / "D.json", "--double")
    assert answer["verdict"] == "verified"


def test_the_exact_numbers_come_back(tmp_path, capsys):
    need("safetensors")
    data = transformer_bytes(2, [{"ff": {"eta": "1/3"}}])
    (tmp_path / "T.jsonl").write_bytes(data)
    record(capsys, "export", tmp_path / "T.jsonl", "-o", tmp_path / "m.safetensors", "--to", "safetensors")
    record(capsys, "import", "safetensors", tmp_path / "m.safetensors", "-o", tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == data


@pytest.mark.parametrize(("kind", "content"), [("torch", b"\x80\x02"), ("numpy", b"{}"), ("safetensors", b"{}")])
def test_a_file_that_cannot_be_read_is_named(tmp_path, capsys, kind, content):
    if kind != "numpy":
        need("safetensors")
    (tmp_path / "m.bin").write_bytes(content)
    answer = record(capsys, "import", kind, tmp_path / "m.bin", "-o", tmp_path / "T.jsonl", code=12)
    assert answer["file"] == str(tmp_path / "m.bin")
    assert not (tmp_path / "T.jsonl").exists()
