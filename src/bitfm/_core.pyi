from typing import Any

import numpy as np
from numpy.typing import NDArray

def isa() -> str: ...
def available_isas() -> list[str]: ...
def use_isa(name: str) -> None: ...
def normal(seed: int, first: int, n: int) -> NDArray[np.float32]: ...
def ndcg(
    users: NDArray[np.int32],
    ratings: NDArray[np.float64],
    scores: NDArray[np.float64],
    n_users: int,
    ks: NDArray[np.int64],
    n_threads: int,
) -> NDArray[np.float64]: ...
def rank_metrics(
    found: NDArray[np.int64],
    start: NDArray[np.int64],
    relevant: NDArray[np.int32],
    n_items: int,
    ks: NDArray[np.int64],
    n_threads: int,
) -> NDArray[np.float64]: ...
def auc(
    scores: NDArray[np.float32] | NDArray[np.float64],
    start: NDArray[np.int64],
    relevant: NDArray[np.int32],
    exclude_start: NDArray[np.int64] | None,
    excluded: NDArray[np.int32] | None,
    n_threads: int,
) -> NDArray[np.float64]: ...
def bootstrap_means(values: NDArray[np.float64], seed: int, n_draws: int, n_threads: int) -> NDArray[np.float64]: ...
def count_far_flips(values: NDArray[np.float64], seed: int, n_flips: int, n_threads: int) -> NDArray[np.int64]: ...

class Design32:
    def __init__(self) -> None: ...
    def add_block(self, n_rows: int, rows: NDArray[np.int32]) -> None: ...
    def add_identity(self, n_columns: int) -> None: ...
    def add_table(
        self,
        n_columns: int,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float32],
    ) -> None: ...

class Trainer32:
    def __init__(
        self, design: Design32, targets: NDArray[np.float32], weights: NDArray[np.float32] | None, cross: bool
    ) -> None: ...
    def sibling(self) -> Trainer32: ...
    def cancel(self) -> None: ...
    def reset_reals(
        self, bias: float, weights: NDArray[np.float32], factors: NDArray[np.float32], n_threads: int
    ) -> None: ...
    def reset_codes(
        self,
        bias: float,
        weights: NDArray[np.float32],
        codes: NDArray[np.uint8],
        gains: NDArray[np.float32] | None,
        n_threads: int,
    ) -> None: ...
    def loss(self, n_threads: int) -> float: ...
    def sweep_weights(
        self,
        bias: float,
        weights: NDArray[np.float32],
        ridge: NDArray[np.float64],
        fit_bias: bool,
        n_threads: int,
    ) -> float: ...
    def sweep_factors(
        self,
        factors: NDArray[np.float32],
        ridge: NDArray[np.float64],
        linear: NDArray[np.float32] | None,
        scale: float,
        n_threads: int,
    ) -> None: ...
    def draw_weights(
        self,
        bias: float,
        weights: NDArray[np.float32],
        precision: NDArray[np.float64],
        mean: NDArray[np.float64],
        noise_precision: float,
        seed: int,
        n_threads: int,
    ) -> float: ...
    def draw_factors(
        self,
        factors: NDArray[np.float32],
        precision: NDArray[np.float64],
        mean: NDArray[np.float64],
        noise_precision: float,
        seed: int,
        n_threads: int,
    ) -> None: ...
    def sweep_codes(
        self,
        codes: NDArray[np.uint8],
        delegate: NDArray[np.float32],
        beta: float,
        passes: int,
        n_threads: int,
    ) -> int: ...
    def sweep_anchored(
        self,
        field: int,
        codes: NDArray[np.uint8],
        gains: NDArray[np.float32],
        error: NDArray[np.float32],
        hessian: NDArray[np.float32],
        strength: float,
        passes: int,
        n_threads: int,
    ) -> int: ...
    def sweep_sgd(
        self,
        bias: float,
        weights: NDArray[np.float32],
        factors: NDArray[np.float32],
        factor_ridge: NDArray[np.float64],
        weight_ridge: NDArray[np.float64],
        learning_rate: float,
        order: NDArray[np.int32],
    ) -> tuple[float, float]: ...

class Design64:
    def __init__(self) -> None: ...
    def add_block(self, n_rows: int, rows: NDArray[np.int32]) -> None: ...
    def add_identity(self, n_columns: int) -> None: ...
    def add_table(
        self,
        n_columns: int,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
    ) -> None: ...

class Trainer64:
    def __init__(
        self, design: Design64, targets: NDArray[np.float64], weights: NDArray[np.float64] | None, cross: bool
    ) -> None: ...
    def sibling(self) -> Trainer64: ...
    def cancel(self) -> None: ...
    def reset_reals(
        self, bias: float, weights: NDArray[np.float64], factors: NDArray[np.float64], n_threads: int
    ) -> None: ...
    def reset_codes(
        self,
        bias: float,
        weights: NDArray[np.float64],
        codes: NDArray[np.uint8],
        gains: NDArray[np.float32] | None,
        n_threads: int,
    ) -> None: ...
    def loss(self, n_threads: int) -> float: ...
    def sweep_weights(
        self,
        bias: float,
        weights: NDArray[np.float64],
        ridge: NDArray[np.float64],
        fit_bias: bool,
        n_threads: int,
    ) -> float: ...
    def sweep_factors(
        self,
        factors: NDArray[np.float64],
        ridge: NDArray[np.float64],
        linear: NDArray[np.float32] | None,
        scale: float,
        n_threads: int,
    ) -> None: ...
    def draw_weights(
        self,
        bias: float,
        weights: NDArray[np.float64],
        precision: NDArray[np.float64],
        mean: NDArray[np.float64],
        noise_precision: float,
        seed: int,
        n_threads: int,
    ) -> float: ...
    def draw_factors(
        self,
        factors: NDArray[np.float64],
        precision: NDArray[np.float64],
        mean: NDArray[np.float64],
        noise_precision: float,
        seed: int,
        n_threads: int,
    ) -> None: ...
    def sweep_codes(
        self,
        codes: NDArray[np.uint8],
        delegate: NDArray[np.float32],
        beta: float,
        passes: int,
        n_threads: int,
    ) -> int: ...
    def sweep_anchored(
        self,
        field: int,
        codes: NDArray[np.uint8],
        gains: NDArray[np.float32],
        error: NDArray[np.float32],
        hessian: NDArray[np.float32],
        strength: float,
        passes: int,
        n_threads: int,
    ) -> int: ...
    def sweep_sgd(
        self,
        bias: float,
        weights: NDArray[np.float64],
        factors: NDArray[np.float64],
        factor_ridge: NDArray[np.float64],
        weight_ridge: NDArray[np.float64],
        learning_rate: float,
        order: NDArray[np.int32],
    ) -> tuple[float, float]: ...

def predict_reals(
    design: Design32 | Design64,
    bias: float,
    weights: NDArray[Any],
    factors: NDArray[Any],
    cross: bool,
    n_threads: int,
) -> NDArray[Any]: ...
def predict_codes(
    design: Design32 | Design64,
    bias: float,
    weights: NDArray[Any],
    codes: NDArray[np.uint8],
    gains: NDArray[np.float32],
    cross: bool,
    n_threads: int,
) -> NDArray[Any]: ...
def moments(values: NDArray[Any], mean: NDArray[np.float64], gram: NDArray[np.float64], n_threads: int) -> None: ...
def map_features(
    values: NDArray[Any],
    mean: NDArray[np.float64],
    transform: NDArray[np.float64],
    out: NDArray[np.float32],
    n_threads: int,
) -> None: ...
def anchor_field(
    codes: NDArray[np.uint8],
    gains: NDArray[np.float32],
    error: NDArray[np.float32],
    hessian: NDArray[np.float32],
    row_weight: NDArray[np.float32],
    start: NDArray[np.int64] | None,
    rows: NDArray[np.int32] | None,
    values: NDArray[np.float32] | None,
    passes: int,
    keep_gains: bool,
    n_threads: int,
) -> int: ...
def anchor_pairs(
    codes: NDArray[np.uint8],
    gains: NDArray[np.float32],
    factors: NDArray[np.float32],
    weights: NDArray[np.float32],
    passes: int,
) -> int: ...
def solve_ids(
    start: NDArray[np.int64],
    rows: NDArray[np.int32],
    values: NDArray[np.float64],
    before: NDArray[np.float64],
    constants: NDArray[np.float64],
    vectors: NDArray[np.float32],
    own_constants: NDArray[np.float64],
    own_vectors: NDArray[np.float32],
    unseen: NDArray[np.float64],
    unseen_an_event: float,
    unseen_anyway: float,
    noise: float,
    weight_variance: float,
    factor_variance: float,
    solved: NDArray[np.float64],
    n_threads: int,
) -> None: ...
def nearest_codes(
    vectors: NDArray[np.float32],
    hessian: NDArray[np.float32],
    passes: int,
    rounds: int,
    codes: NDArray[np.uint8],
    gains: NDArray[np.float32],
    n_threads: int,
) -> None: ...
def single_features(
    design: Design32 | Design64, gains: NDArray[np.float32], n_threads: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...
def side_vectors(
    design: Design32 | Design64, codes: NDArray[np.uint8], gains: NDArray[np.float32], n_threads: int
) -> NDArray[np.float32]: ...
def score_pairs(
    design: Design32 | Design64,
    bias: float,
    weights: NDArray[np.float32],
    codes: NDArray[np.uint8],
    gains: NDArray[np.float32],
    cross: bool,
    n_threads: int,
) -> NDArray[np.float64]: ...
def score_pairs_by_records(
    design: Design32 | Design64,
    bias: float,
    records: NDArray[np.uint8],
    kind: str,
    width: int,
    cross: bool,
    n_threads: int,
) -> NDArray[np.float64]: ...
def libfm_scores(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float32],
    bias: float,
    weights: NDArray[np.float64],
    factors: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def arrange_codes(
    codes: NDArray[np.uint8],
    gains: NDArray[np.float32],
    biases: NDArray[np.float32],
    positions: NDArray[np.int32],
    weight: float,
) -> tuple[NDArray[Any], ...]: ...
def arrange_vectors(
    vectors: NDArray[np.float32],
    biases: NDArray[np.float32],
    positions: NDArray[np.int32],
    turn: NDArray[np.float64],
    weight: float,
    halve: bool,
) -> tuple[NDArray[Any], ...]: ...

class CodeCatalogue:
    def __init__(
        self,
        bytes: int,
        codes: NDArray[np.uint8],
        position: NDArray[np.int32],
        bias: NDArray[np.float32],
        gain: NDArray[np.float32],
        chunk_bias: NDArray[np.float32],
        chunk_most: NDArray[np.float32],
        chunk_least: NDArray[np.float32],
        inverse_most: NDArray[np.float32],
        inverse_least: NDArray[np.float32],
        chunk_first: NDArray[np.int32],
    ) -> None: ...
    def search_codes(
        self,
        alive: NDArray[np.uint64],
        codes: NDArray[np.uint8],
        gains: NDArray[np.float32],
        constants: NDArray[np.float64],
        start: NDArray[np.int64] | None,
        excluded: NDArray[np.int32] | None,
        n: int,
        n_threads: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...
    def search_vectors(
        self,
        alive: NDArray[np.uint64],
        vectors: NDArray[np.float32],
        constants: NDArray[np.float64],
        start: NDArray[np.int64] | None,
        excluded: NDArray[np.int32] | None,
        n: int,
        n_threads: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...

class VectorCatalogue:
    def __init__(
        self,
        turn: NDArray[np.float64],
        values: NDArray[np.int8],
        start: NDArray[np.int16],
        position: NDArray[np.int32],
        bias: NDArray[np.float32],
        vectors: NDArray[np.float32],
        chunk_bias: NDArray[np.float32],
        inverse_step: NDArray[np.float32],
        length: NDArray[np.float32],
        error: NDArray[np.float32],
        rest: NDArray[np.float32],
        chunk_first: NDArray[np.int32],
        halves: NDArray[np.uint8],
        half_inverse_step: NDArray[np.float32],
        half_error: NDArray[np.float32],
    ) -> None: ...
    def search(
        self,
        alive: NDArray[np.uint64],
        vectors: NDArray[np.float32],
        constants: NDArray[np.float64],
        start: NDArray[np.int64] | None,
        excluded: NDArray[np.int32] | None,
        n: int,
        n_threads: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...

def rescore(
    positions: NDArray[np.int32],
    biases: NDArray[np.float32],
    vectors: NDArray[np.float32],
    queries: NDArray[np.float32],
    constants: NDArray[np.float64],
    candidates: NDArray[np.int64],
    n: int,
    n_threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...

class LibfmError(ValueError): ...

class LibfmParser:
    def __init__(self, first_index: int = 0, n_bytes: int = 0) -> None: ...
    def feed(self, chunk: bytes) -> None: ...
    def finish(
        self,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]: ...

def format_libfm(
    y: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    begin: int,
    end: int,
    first_index: int,
) -> bytes: ...
