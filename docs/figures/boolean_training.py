"""Prints the training table of docs/explanation/boolean.md (needs torch; about fifteen minutes)."""

from __future__ import annotations

from interp.boolean.training import Settings, train_encoder
from proofs.boolean.check import Claim, check_encoder

SEEDS = (0, 1)


def main() -> None:
    print("| function | N | seed | loss | accuracy | verdict | profile | min \\|T\\| |")
    print("|---" * 8 + "|")
    for function in ("parity", "majority", "first"):
        for bits in (4, 6, 8, 10):
            for seed in SEEDS:
                trained = train_encoder(function, bits, Settings(updates=600), seed)
                verdict = check_encoder(trained.encoder, Claim(bits, function))
                facts = [verdict.facts.get(name, "-") for name in ("profile", "min |T|")]
                cells = [function, str(bits), str(seed), f"{trained.loss:.2g}", f"{trained.accuracy:.3f}"]
                print("| " + " | ".join([*cells, verdict.status.label, *facts]) + " |", flush=True)


if __name__ == "__main__":
    main()
