"""The inequality of arcs: every projector obeys it, in some arc of every circle."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fairspan.certificate.arcs import Frame, incumbent_frame, relaxed_frame
from tests import reference


def draw(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 9))
    k = int(rng.integers(1, d))
    return rng, d, k, Frame(reference.random_subspace(rng, d, d), k)


def projectors(rng, frame, d, k, n=150):
    """Projectors near the frame's own, where the inequality is tight, and anywhere."""
    for _ in range(n):
        basis = rng.permutation(np.eye(d), axis=1) if rng.random() < 0.2 else np.eye(d)
        V = np.linalg.qr(basis[:, :k] + 10.0 ** rng.uniform(-4, 1) * rng.standard_normal((d, k)))[0]
        V = frame.basis @ V
        yield V @ V.T


@pytest.mark.parametrize("seed", range(40))
def test_every_projector_obeys_the_rows_of_the_arc_its_angle_lies_in(seed):
    rng, d, k, frame = draw(seed)
    arcs = frame.arcs()
    for _ in range(4):
        place = int(rng.integers(len(arcs)))
        arcs[place : place + 1] = arcs[place].split(next(projectors(rng, frame, d, k)))
    assert arcs[0].low == 0
    assert arcs[-1].high == pytest.approx(2 * np.pi)
    assert all(a.high == b.low for a, b in itertools.pairwise(arcs))
    for X in projectors(rng, frame, d, k):
        angle = frame.read(X)[0] % (2 * np.pi)
        mine = [arc for arc in arcs if arc.low <= angle <= arc.high]
        assert mine
        for arc in mine:
            matrices, limits = arc.rows()
            assert (np.einsum("ide,de->i", matrices, X) >= limits - 1e-12).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_length_of_z_is_what_the_lemma_says_and_mixtures_fall_short(seed):
    rng, d, k, frame = draw(seed)
    B = frame.basis[:, k - 1 : k + 1]
    for X in projectors(rng, frame, d, k):
        u = k - 1 - np.sum((frame.basis[:, : k - 1].T @ X) * frame.basis[:, : k - 1].T)
        v = np.sum((frame.basis[:, k + 1 :].T @ X) * frame.basis[:, k + 1 :].T)
        Z = B.T @ X @ B
        top = np.linalg.eigvalsh(Z)
        assert top[1] >= 1 - v - 1e-12
        assert top[0] <= u + 1e-12
        angle, short = frame.read(X)
        assert short == pytest.approx(1 - u - v - (top[1] - top[0]), abs=1e-9)
        assert short <= 1e-12
        z = (top[1] - top[0]) * np.array([np.cos(angle), np.sin(angle)])
        np.testing.assert_allclose([Z[0, 0] - Z[1, 1], 2 * Z[0, 1]], z, atol=1e-9)
    # A disc in place of the circle: half of one projector, half of the other.
    x = np.r_[np.ones(k - 1), 0.5, 0.5, np.zeros(d - k - 1)]
    X = (frame.basis * x) @ frame.basis.T
    assert frame.read(X)[1] == pytest.approx(1.0)
    assert not any(arc.holds(X) for arc in frame.arcs())
    assert relaxed_frame(frame.basis[:, ::-1], k).read(X)[1] == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(20))
def test_a_known_projector_lies_on_the_border_of_its_own_frame(seed):
    rng, d, k, _ = draw(seed)
    V = reference.random_subspace(rng, d, k)
    C = rng.standard_normal((d, d))
    other = reference.random_subspace(rng, d, k)
    frame, _ = incumbent_frame(V, C + C.T, 0.5 * (V @ V.T + other @ other.T))
    angle, tight = frame.read(V @ V.T)
    assert angle == pytest.approx(0, abs=1e-9)
    assert tight == pytest.approx(0, abs=1e-9)
    assert [arc.holds(V @ V.T) for arc in frame.arcs()] == [True, False, True]
