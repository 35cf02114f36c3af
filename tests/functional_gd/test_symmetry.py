"""Theorems 1 and 2 and (C.30), exactly, for d = n = L = 2."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flint import fmpq, fmpq_mat

from interp.functional_gd import symmetry
from interp.functional_gd.symmetry import (
    Dual,
    Family,
    compare_slopes,
    find_equivariance_failure,
    find_slope,
    rational_rotations,
    rotate,
    signed_permutations,
    to_dual,
)
from proofs.functional_gd.forward import run_forward
from proofs.functional_gd.model import parse_activation, scaled_identity
from proofs.kernel.errors import MalformedInput
from tests.functional_gd.contexts import make_context, number, vector

CONTEXT = make_context([("1/2", "1/3"), (-1, "2/3")], (1, 2), ("3/2", "-1/5"))
TARGET = number("3/7")
ROOT = fmpq_mat([[fmpq(2), fmpq(1)], [fmpq(1), fmpq(3)]])
ACTIVATIONS = ["linear", "relu", "polynomial:2"]


def family_of(name, a=("1/5", "-1/3")):
    b, c, rho = vector("1/2", 2), vector(1, "2/3"), vector("-1/4", "-1/7")
    return Family(parse_activation(name), ROOT, b, c, vector(*a), rho)


@pytest.mark.parametrize("a", [(0, 0), ("1/5", "-1/3")], ids=["theorem-1", "theorem-2"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_stationarity(name, a):
    found = compare_slopes(CONTEXT, TARGET, family_of(name, a))
    assert len(found) == 2 * 3 * 4
    assert [item for item in found if item.found != item.expected] == []
    assert sum(item.found != 0 for item in found) >= 12  # the gradients are not zero: the identity says something


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_point_outside_the_family_is_not_stationary(monkeypatch, name):
    family = family_of(name)
    right = family.transformer()
    (head,) = right.layers[0]
    skewed = replace(right, layers=((replace(head, B=head.B + fmpq_mat([[0, 1], [0, 0]])),), right.layers[1]))
    monkeypatch.setattr(Family, "transformer", lambda self: skewed)
    assert any(item.found != item.expected for item in compare_slopes(CONTEXT, TARGET, family))


def test_labels_must_stay_fixed_and_the_whole_group_is_needed(monkeypatch):
    identity = [scaled_identity(2, fmpq(1))]
    monkeypatch.setattr(symmetry, "signed_permutations", lambda d: identity)
    assert any(item.found != item.expected for item in compare_slopes(CONTEXT, TARGET, family_of("relu")))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_equivariance(name):
    for U in (*signed_permutations(2), *rational_rotations(2)):
        assert find_equivariance_failure(CONTEXT, family_of(name), U) == ""


def test_equivariance_in_three_dimensions():
    context = make_context([(1, 0, 2), ("1/2", 1, -1)], (1, 2), (1, 1, 1))
    root = fmpq_mat([[3, 1, 0], [1, 2, 1], [0, 1, 4]])
    family = Family(parse_activation("relu"), root, *(vector("1/2", 2) for _ in range(4)))
    rotations = [*rational_rotations(3), *signed_permutations(3)]
    assert len(rotations) == 4 + 48
    for U in rotations:
        assert find_equivariance_failure(context, family, U) == ""


def test_equivariance_fails_for_another_root(monkeypatch):
    family = family_of("polynomial:2")
    right = family.transformer()
    monkeypatch.setattr(Family, "transformer", lambda self: right)
    other = replace(family, S=scaled_identity(2, fmpq(1)))
    rotation = next(rational_rotations(2))
    assert find_equivariance_failure(CONTEXT, other, rotation) == "layer 1"
    with pytest.raises(MalformedInput, match="not orthogonal"):
        find_equivariance_failure(CONTEXT, family, ROOT)


def test_dual_numbers_are_derivatives():
    x = Dual(fmpq(3), fmpq(1))
    value = (1 + x) ** 3 * x + 2 * x.max(0)
    assert (value.value, value.slope) == (64 * 3 + 6, 64 + 48 * 3 + 2)
    assert to_dual(5).slope == 0
    assert Dual(fmpq(-1), fmpq(1)).max(0).slope == 0
    with pytest.raises(MalformedInput, match="no derivative"):
        Dual(fmpq(0), fmpq(1)).max(0)


def test_slopes_are_limits_of_difference_quotients():
    family = family_of("polynomial:2")
    R = fmpq_mat([[0, 1], [0, 0]])
    slope = find_slope([CONTEXT], TARGET, family, 0, "B", R)

    def loss(t):
        transformer = family.transformer()
        (head,) = transformer.layers[0]
        moved = replace(transformer, layers=((replace(head, B=head.B + t * R),), transformer.layers[1]))
        *_, last = run_forward(moved, CONTEXT, fmpq)
        return (last[-1][-1] + TARGET) ** 2

    h = fmpq(1, 10**9)
    assert abs((loss(h) - loss(-h)) / (2 * h) - slope) < fmpq(1, 10**12)


def test_refusals():
    with pytest.raises(MalformedInput, match="symmetric"):
        replace(family_of("linear"), S=fmpq_mat([[1, 1], [0, 1]]))
    with pytest.raises(MalformedInput, match="not rational"):
        replace(family_of("linear"), activation=parse_activation("exp"))


def test_rotation_leaves_labels():
    rotated = rotate(CONTEXT, next(rational_rotations(2)))
    assert rotated.labels == CONTEXT.labels
    assert rotated.points[0] == vector("1/30", "3/5")
