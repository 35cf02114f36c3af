"""Trusted. The weighted mean of softmax attention at one given temperature, enclosed by Arb balls.

Only this mean is enclosed; it is handed back as a rational box, and feed-forward layers stay exact maps of boxes
(``proofs.kernel.boxes``). So a box becomes a point only where weights cancel exactly: a target that merely lies in an
enclosure proves nothing.
"""

from __future__ import annotations

from flint import arb, ctx, fmpq

from proofs.kernel.softmax import MAX_EXPONENT, Mean, MeanBox, ScoreTable

PRECISIONS = (64, 128, 256, 512, 1024, 2048)  # bits, tried in turn until the answer is decided


def mean_at(tau: fmpq, bits: int) -> Mean:
    """The mean at temperature tau > 0, computed with ``bits`` bits.

    pi_l is proportional to exp(-(d_l +- e_l) / tau), enclosed by balls (an interval d +- e is the ball d + [-1, 1] e).
    The mean is center_b + sum pi_l (center_l - center_b) up to sum pi_l radius_l in each coordinate. If every score is
    known exactly and all are equal, pi_l = 1/n exactly. Exponents stay short: exp(-x) <= 2^-512 for x >= 512, and where
    a token may beat b by more than 512, or the sum of the weights is not certainly positive, only the hull of the
    sequence is used.
    """

    def mean(table: ScoreTable, i: int) -> MeanBox:
        b, differences, errors = table.differences(i)
        if not any(differences) and not any(errors):
            return table.average(range(len(differences)))
        cap = MAX_EXPONENT * tau
        if any(e - d > cap for d, e in zip(differences, errors, strict=True)):
            return table.hull(range(len(differences)))
        with ctx.workprec(bits):
            unit, least = arb(0, 1), arb(fmpq(1, 1 << MAX_EXPONENT))
            weights = [
                unit * least if d - e >= cap else (-(arb(d) + unit * arb(e)) / arb(tau)).exp()
                for d, e in zip(differences, errors, strict=True)
            ]
            total = sum(weights, arb(0))
            if not (total.is_finite() and total > 0):  # true only if certain: wide balls may reach 0
                return table.hull(range(len(differences)))
            shares = [weight / total for weight in weights]
            center, radius = [], []
            for c, anchor in enumerate(table.centers[b]):
                offset = spread = arb(0)
                for share, x, r in zip(shares, table.centers, table.radii, strict=True):
                    offset += share * arb(x[c] - anchor)
                    spread += share * arb(r[c])
                center.append(anchor + exact_value(offset.mid()))
                radius.append(exact_value(offset.rad()) + exact_value(spread.mid()) + exact_value(spread.rad()))
        return center, radius

    return mean


def exact_value(value: arb) -> fmpq:
    """The dyadic that a ball of radius zero is."""
    mantissa, exponent = value.man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)
