"""Coverage-guided fuzzing of everything that reads a user's bytes: ``make fuzz`` (extra ``fuzz``).

Whatever the bytes, the only exceptions are the project's own, and nothing that an evaluator contradicts is verified.
"""

from __future__ import annotations

import hashlib
import json
import sys

import atheris

with atheris.instrument_imports(include=["proofs"]):
    from proofs.kernel.check import check
    from proofs.kernel.decode import decode_dataset, decode_transformer
    from proofs.kernel.errors import InternalFault, InterpError, Status
    from proofs.kernel.rational import Limits
    from proofs.kernel.statement import make_claim

from tests.reference import evaluator
from tests.strategies import dataset_bytes, make_dataset, pairs_of

LIMITS = Limits(max_digits=60, max_exponent=60, max_bytes=20_000, max_height=4_000, max_dimension=8)
DATASET = make_dataset(([[1, 0], [1, 2]], [[1, 1]]))
SEEDS = (
    b'{"block":1,"sa":{"rho":0,"V":{"beta":1}}}',
    b'{"block":1,"ff":{"eta":1,"W":[[1],[0]],"U":[["1/2",-1]],"b":[0.5]}}',
    b'{"block":1,"ff":{"eta":"1e3","W":{"outer":[[1,2],[3]]},"U":[[0,1]],"b":[0]},"sa":{"rho":1,"A":{"dense":[[1,0],[0,1]]}}}',
)


def sign(line: bytes) -> bytes:
    """A transformer file whose only block is this line, so that the fuzzer reaches what comes after the digest."""
    head = json.dumps({"format": "interp-transformer/1", "dimension": 2, "blocks": 1}).encode()
    body = head + b"\n" + line.replace(b"\n", b" ") + b"\n"
    end = {"end": {"blocks": 1, "sha256": hashlib.sha256(body).hexdigest()}}
    return body + json.dumps(end).encode() + b"\n"


def test_one_input(data: bytes) -> None:
    """One round: the bytes as a dataset, as a whole witness, and as the block of a signed one."""
    for read in (decode_dataset, decode_transformer):
        expect_own_errors(lambda read=read: read(data, LIMITS))
    witness = sign(data)

    def whole() -> None:
        verdict = check(DATASET, decode_transformer(witness, LIMITS), make_claim(DATASET), LIMITS)
        if verdict.status is Status.VERIFIED and not evaluator.interpolates(witness, pairs_of(DATASET)):
            raise RuntimeError("a false statement was verified")

    expect_own_errors(whole)


def expect_own_errors(work) -> None:
    """Runs it; only malformed input and limits may stop it."""
    try:
        work()
    except InternalFault:
        raise
    except InterpError:
        pass


def main() -> None:
    """Runs until told to stop (``-max_total_time=SECONDS``)."""
    atheris.Setup(sys.argv, test_one_input)
    for seed in (*SEEDS, dataset_bytes(DATASET)):
        test_one_input(seed)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
