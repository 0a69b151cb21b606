import pytest

from kernelcal.arrays import row_slices


@pytest.mark.parametrize(("n", "step"), [(0, 3), (1, 3), (9, 3), (10, 3), (5, 100), (4, 0)])
def test_row_slices_cover_every_row_once(n, step):
    parts = row_slices(n, step)
    assert [row for part in parts for row in range(n)[part]] == list(range(n))
    assert all(0 < part.stop - part.start <= max(step, 1) for part in parts)
    assert all(part.stop <= n for part in parts)
