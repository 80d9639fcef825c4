"""MinHash: codes of sets whose bits agree the more often, the more elements two sets share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["buckets_of", "minhash_codes"]


def minhash_codes(
    indptr: npt.NDArray[np.integer],
    elements: npt.NDArray[np.integer],
    n_elements: int,
    bits: int,
    bucket_bits: int,
    rng: np.random.Generator,
) -> npt.NDArray[np.uint8]:
    """Return a packed code for each set, given where it begins among all elements.

    A hash function puts all elements in a random order and gives each `bucket_bits` random bits; the hash of a set is
    the bits of its first element (Broder, 1997; Li and König, WWW 2010, for bits of it). Two sets have the same first
    element with probability J, their Jaccard similarity; so they agree in a bit with probability J + (1 − J) / 2, and
    in all bits of a hash function, which are their bucket, with J + (1 − J) / 2^bucket_bits. All bits of an empty set
    are 0.

    Examples
    --------
    >>> import numpy as np
    >>> from bitfm_research.baselines._minhash import minhash_codes
    >>> sets = np.array([0, 2, 4, 4]), np.array([3, 5, 3, 5])  # twice {3, 5}, and nothing
    >>> codes = minhash_codes(*sets, 8, 16, 8, np.random.default_rng(0))
    >>> bool((codes[0] == codes[1]).all()), codes[2].tolist()
    (True, [0, 0])
    """
    filled = np.flatnonzero(np.diff(indptr))
    starts = indptr[:-1][filled]
    hashes = np.zeros((len(indptr) - 1, bits // bucket_bits), np.uint8)
    for column in hashes.T:
        place = rng.permutation(n_elements).astype(np.int32)
        drawn = rng.integers(0, 1 << bucket_bits, n_elements).astype(np.uint8)  # by place, so that it needs no inverse
        if len(filled):
            column[filled] = drawn[np.minimum.reduceat(place[elements], starts)]
    each = np.unpackbits(hashes[:, :, None], axis=2, bitorder="little")[:, :, :bucket_bits]
    return np.packbits(each.reshape(len(hashes), bits), axis=1, bitorder="little")


def buckets_of(codes: npt.NDArray[np.uint8], bucket_bits: int) -> npt.NDArray[np.uint8]:
    """Return the buckets of packed codes, codes × hash functions.

    Examples
    --------
    >>> import numpy as np
    >>> from bitfm_research.baselines._minhash import buckets_of
    >>> buckets_of(np.array([[0b1100_0001]], np.uint8), 4)
    array([[ 1, 12]], dtype=uint8)
    """
    bits = np.unpackbits(codes, axis=1, bitorder="little").reshape(len(codes), -1, bucket_bits)
    return np.packbits(bits, axis=2, bitorder="little")[:, :, 0]
