"""The mean at one temperature: what is far away is small, and never nothing."""

from __future__ import annotations

from flint import arb, ctx, fmpq

from proofs.balls.attention import mean_at

ONE = fmpq(1)


class Table:
    """Two tokens 0 and 1 of given score difference, the first one the better at the center."""

    def __init__(self, difference: fmpq, error: fmpq) -> None:
        self.centers, self.radii = [[fmpq(0)], [ONE]], [[fmpq(0)], [fmpq(0)]]
        self._differences = 0, [fmpq(0), difference], [fmpq(0), error]

    def differences(self, i):
        return self._differences

    def hull(self, tokens):
        return [fmpq(1, 2)], [fmpq(1, 2)]


def share(gap):
    return (-arb(gap)).exp() / (1 + (-arb(gap)).exp())


def test_a_remote_token_leaves_a_radius_that_holds_its_share():
    for gap, error in ((600, 0), (10**6, 0), (511, 0), (2000, 1000)):
        (center,), (radius,) = mean_at(ONE, 64)(Table(fmpq(gap), fmpq(error)), 0)
        assert 0 < radius < fmpq(1, 2**500)
        with ctx.workprec(2000):
            for true in map(share, (gap - error, gap, gap + error)):
                assert abs(true - arb(center)) <= arb(radius)


def test_a_token_that_may_win_by_far_leaves_the_hull():
    center, radius = mean_at(ONE, 64)(Table(fmpq(1), fmpq(514)), 0)
    assert (center, radius) == ([fmpq(1, 2)], [fmpq(1, 2)])
