import numpy as np
import pytest

from kernelcal.arrays import row_slices, to_numpy


@pytest.mark.parametrize(("n", "step"), [(0, 3), (1, 3), (9, 3), (10, 3), (5, 100), (4, 0)])
def test_row_slices_cover_every_row_once(n, step):
    parts = row_slices(n, step)
    assert [row for part in parts for row in range(n)[part]] == list(range(n))
    assert all(0 < part.stop - part.start <= max(step, 1) for part in parts)
    assert all(part.stop <= n for part in parts)


def test_what_dlpack_does_not_hand_over_is_copied():
    """NumPy before 2.1 exports no read-only array, which a library may hold."""

    class Held:
        def __dlpack__(self, **_):
            raise BufferError("Cannot export readonly array")

        def __dlpack_device__(self):
            return (1, 0)

        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0], dtype=dtype)

    np.testing.assert_array_equal(to_numpy(Held()), [1.0, 2.0])
