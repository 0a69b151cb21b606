"""The generator that counts: published vectors, NumPy, cut anyhow, and uniform."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

from kernelcal.inference import philox
from kernelcal.inference.philox import keyed_words, philox4x32, philox_words


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [  # kat_vectors of Random123, the library of the authors
        ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_published_vectors(counter, key, words):
    found = philox4x32(np.array(counter, dtype=np.uint64)[:, None], tuple(key))
    assert [f"{int(word):08x}" for word in found[:, 0]] == words.split()


@pytest.mark.parametrize("place", [(0, 0, 0), (6, 0, 3), (2**64 - 2, 5, 0), (2**63, 2**64 - 1, 2**40)])
def test_wide_words_are_those_of_numpy(place):
    """Its generator counts before it computes, and from a full first word to the second."""
    key = np.array([0x123456789ABCDEF0, 7], dtype=np.uint64)
    counter = np.array([*place, 0], dtype=np.uint64)
    expected = np.random.Philox(key=key, counter=counter).random_raw(12).reshape(3, 4).T
    after = [place[0] + (place[1] << 64) + k for k in (1, 2, 3)]
    first, second = (np.array([(x >> shift) % 2**64 for x in after], dtype=np.uint64) for shift in (0, 64))
    found = philox_words(key, first, second, np.full(3, place[2], dtype=np.uint64))
    np.testing.assert_array_equal(found, expected)


def test_words_are_those_of_a_loop(monkeypatch):
    """Second implementation, with whole numbers of Python."""
    key = np.array([0x123456789ABCDEF0, 7], dtype=np.uint64)
    ids = np.array([0, 2**64 - 1, 0x0123456789ABCDEF], dtype=np.uint64)

    def word(identity, w, stream):
        counter = [identity % 2**32, identity >> 32, w // 4, stream]
        left, right = int(key[0]) % 2**32, int(key[0]) >> 32
        for _ in range(10):
            first, second = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
            counter = [
                (second >> 32) ^ counter[1] ^ left,
                second % 2**32,
                (first >> 32) ^ counter[3] ^ right,
                first % 2**32,
            ]
            left, right = (left + 0x9E3779B9) % 2**32, (right + 0xBB67AE85) % 2**32
        return counter[w % 4]

    for stream in (0, 9):
        expected = [[word(int(i), w, stream) for w in range(3, 14)] for i in ids]
        np.testing.assert_array_equal(keyed_words(key, ids, 3, 14, stream), expected)
        monkeypatch.setattr(philox, "_AT_ONCE", 1)


def test_numbers_are_uniform_and_uncorrelated():
    """Near identities, neighbouring draws, other seeds: by laws that SciPy knows, each at 1 in 10,000."""
    key, other = (np.array([k, 0], dtype=np.uint64) for k in (5, 6))
    ids = np.arange(2000, dtype=np.uint64)

    def uniforms(key):
        return (keyed_words(key, ids, 0, 64).T + 0.5) * 2.0**-32

    numbers = uniforms(key)
    assert kstest(numbers.ravel(), "uniform").pvalue > 1e-4
    centred = (numbers - 0.5) * np.sqrt(12)
    beside = (uniforms(other) - 0.5) * np.sqrt(12)
    for pairs in (
        centred[1:] * centred[:-1],
        centred[:, 1:] * centred[:, :-1],
        centred * beside,
        centred[:32] * centred[32:],
    ):
        assert abs(pairs.mean()) * np.sqrt(pairs.size) < norm.isf(5e-5)
