"""Prints the training table of docs/explanation/functional-gd.md (needs torch; about five minutes)."""

from __future__ import annotations

from interp.functional_gd.training import train


def main() -> None:
    print(
        "| h, labels | trained | layers | loss, first -> last | distance before | B^T C after, by layer | A, by layer |"
    )
    print("|---" * 7 + "|")
    for activation in ("linear", "relu", "exp"):
        for train_values in (False, True):
            for layers in (1, 2, 3):
                found = train(activation, activation, layers, train_values)
                scores, values = (
                    ", ".join(f"{x:.2f}" for x in row) for row in (found.score_distances, found.value_distances)
                )
                names = "A, B, C, rho" if train_values else "B, C, rho"
                losses = f"{found.first_loss:.3g} -> {found.last_loss:.3g}"
                cells = [activation, names, str(layers), losses, f"{found.start_distance:.2f}", scores]
                print("| " + " | ".join([*cells, values if train_values else "-"]) + " |", flush=True)


if __name__ == "__main__":
    main()
