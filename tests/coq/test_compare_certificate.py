"""The comparison of a certificate with the files it is about."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from interp.export.coq import emit_certificate
from interp.transformers.encode import encode_transformer
from proofs.coq.compare_certificate import Malformed, parse_number, read_certificate
from proofs.kernel.statement import make_claim
from tests.coq.cases import DATA, HARDMAX_DATASET, file_case, hardmax_case, selecting_case
from tests.coq.conftest import SOURCE


def run(text: str, dataset: bytes, transformer: bytes, folder: Path) -> tuple[int, str]:
    """Exit code and output, without the packages of the program."""
    paths = [folder / "cert.v", folder / "data.json", folder / "witness.jsonl"]
    for path, content in zip(paths, (text.encode(), dataset, transformer), strict=True):
        path.write_bytes(content)
    command = [sys.executable, "-I", "-S", str(SOURCE / "compare_certificate.py"), *map(str, paths)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return result.returncode, result.stdout + result.stderr


def files(name: str) -> tuple[bytes, bytes]:
    return (DATA / f"{name}.dataset.json").read_bytes(), (DATA / f"{name}.transformer.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("name", "temperatures"),
    [
        ("softmax_small", "(0,1]"),
        ("softmax_larger", "[0,1/7]"),
        ("uniform", "[0,oo)"),
        ("uniform", "(0,oo)"),
        ("softmax_small", "1/2"),
    ],
)
@pytest.mark.parametrize("arithmetic", ["standard", "bignums"])
def test_agrees(name: str, temperatures: str, arithmetic: str, tmp_path: Path) -> None:
    dataset, transformer = file_case(name)
    text = emit_certificate(dataset, transformer, make_claim(dataset, temperatures=temperatures), arithmetic)
    code, output = run(text, *files(name), tmp_path)
    assert (code, output[:6]) == (0, "AGREES")
    assert f"temperature {temperatures.replace(',', ', ')}" in output


def test_long_numbers_agree(tmp_path: Path) -> None:
    dataset, transformer = hardmax_case()
    long = HARDMAX_DATASET.replace(b'"1/2"', b'"' + b"7" * 5000 + b"/" + b"3" * 4999 + b'"')
    text = emit_certificate(dataset, transformer, make_claim(dataset))
    text = text.replace("(1#2);(0#1)]", f"({'0x' + format(int('7' * 4000), 'x')}#1);(0#1)]")
    code, output = run(text, long, encode_transformer(transformer), tmp_path)
    assert (code, output[:7]) == (10, "DIFFERS")


def test_dense_matrix_agrees(tmp_path: Path) -> None:
    dataset, transformer = selecting_case()
    data = (
        b'{"format":"interp-dataset/1","dimension":2,"pairs":[{"input":[[1,1.0],[9e0,1],["4/2",1]],"output":[[1,1]]}]}'
    )
    text = emit_certificate(dataset, transformer, make_claim(dataset))
    assert run(text, data, encode_transformer(transformer), tmp_path)[0] == 0


def test_every_changed_number_is_found(tmp_path: Path) -> None:
    dataset, transformer = hardmax_case()
    text = emit_certificate(dataset, transformer, make_claim(dataset))
    witness = encode_transformer(transformer)
    assert run(text, HARDMAX_DATASET, witness, tmp_path)[0] == 0
    body = text.index("Definition blocks")
    places = [i for i in range(body, text.index("Lemma checked")) if text.startswith("#1)", i)]
    for place in places[:: max(1, len(places) // 12)]:
        code, output = run(text[:place] + "#7" + text[place + 2 :], HARDMAX_DATASET, witness, tmp_path)
        zero = text[:place].endswith("(0")
        assert code == (0 if zero else 10), output


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Open Scope Q_scope.", "Open Scope Q_scope. Definition certified (c : claim) (a b : nat) := True."),
        ("data blocks.\nProof", "data [].\nProof"),
        ("tau = 0%R", "tau = 1%R"),
        ("Theorem certificate : certified", "Theorem certificate : True \\/ certified"),
        ("(Claim 2 4 ", "(Claim 2 5 "),
        ("Print Assumptions certificate.\n", "Print Assumptions certificate.\nCheck 1.\n"),
        ("Definition data", "Definition blocks2 := blocks.\nDefinition data"),
        ("(1#1)", "(1#0)"),
        ("(1#1)", "(1 # 1)"),
        ("exact (hardmax_sound", "exact (softmax_sound"),
    ],
)
def test_other_text_is_refused(old: str, new: str) -> None:
    dataset, transformer = hardmax_case()
    text = emit_certificate(dataset, transformer, make_claim(dataset))
    read_certificate(text)
    assert old in text
    with pytest.raises(Malformed):
        read_certificate(text.replace(old, new, 1))


def test_limit_must_be_positive() -> None:
    dataset, transformer = file_case("softmax_small")
    text = emit_certificate(dataset, transformer, make_claim(dataset, temperatures="(0,1]"))
    with pytest.raises(Malformed, match="positive limit"):
        read_certificate(text.replace("Definition limit : Q := (1#1)", "Definition limit : Q := (-1#1)"))


def test_changed_files_are_found(tmp_path: Path) -> None:
    dataset, transformer = file_case("uniform")
    text = emit_certificate(dataset, transformer, make_claim(dataset))
    data, witness = files("uniform")
    lines = data.split(b"\n")
    fewer = b"\n".join([lines[0], *lines[1:-4], lines[-4].rstrip(b","), *lines[-2:]])
    assert run(text, fewer, witness, tmp_path)[0] == 10
    assert run(text, *files("softmax_small"), tmp_path)[0] == 10
    assert run(text, data, witness[:-1], tmp_path)[0] == 12
    assert run(text, data, witness.replace(b'"rho":1', b'"rho":2', 1), tmp_path)[0] == 12  # the digest does not fit
    assert run(text, data[:-3], witness, tmp_path)[0] == 12


def test_usage() -> None:
    command = [sys.executable, str(SOURCE / "compare_certificate.py")]
    assert subprocess.run(command, capture_output=True, timeout=60).returncode == 2


@pytest.mark.parametrize("value", ["1/0", "01", "1_0", " 1", "1/3\n", "0x1", "", "1e1000000", True, None, 1.5])
def test_not_a_number(value: object) -> None:
    with pytest.raises(Malformed):
        parse_number(value)


@pytest.mark.parametrize(
    ("value", "wanted"), [("-0.25", (-1, 4)), ("2.50e-1", (1, 4)), ("-4/6", (-2, 3)), ("3e2", (300, 1))]
)
def test_number(value: str, wanted: tuple[int, int]) -> None:
    assert parse_number(value).as_integer_ratio() == wanted
