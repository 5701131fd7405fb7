"""Matrix products as Triton compiled them, on every target."""

from __future__ import annotations

import numpy as np
import pytest

from pipedsl import sim
from pipedsl.core.arch import ARCHS


@pytest.fixture(scope="module", params=ARCHS)
def matmul(request, shared):
    text = (shared / "examples" / "foreign_asm" / f"triton_matmul_{request.param}.s").read_text()
    kernel = sim.load_assembly(text).kernels["mm"]

    def run(a: np.ndarray, b: np.ndarray, check: bool) -> np.ndarray:
        (m, k), n = a.shape, b.shape[1]
        c = np.full((m, n), np.nan, np.float16)
        block = 4 * kernel.arch.wave_size
        stats = kernel.launch(
            (m // 64, n // 64, 1), block, [a, b, c, m, n, k, k, 1, n, 1, n, 1, 0, 0],
            lds_bytes=32768, check=check,
        )  # fmt: skip
        assert not check or stats.findings == ()
        return c

    return run


SHAPES = [(m, n, k) for m in (64, 128, 192) for n in (64, 128, 192) for k in (32, 64, 160)]


@pytest.mark.parametrize("check", [False, True], ids=["fast", "checked"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
def test_product(matmul, shape, check):
    m, n, k = shape
    random = np.random.default_rng(m + n + k)
    a, b = (random.integers(-4, 5, s).astype(np.float16) for s in ((m, k), (k, n)))
    product = a.astype(np.float32) @ b.astype(np.float32)  # exact, so only float16 rounds
    assert np.array_equal(matmul(a, b, check), product.astype(np.float16))
    a, b = (random.standard_normal(s).astype(np.float16) for s in ((m, k), (k, n)))
    product = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(
        matmul(a, b, check).astype(np.float64), product, rtol=1e-2, atol=1e-2
    )  # fmt: skip
