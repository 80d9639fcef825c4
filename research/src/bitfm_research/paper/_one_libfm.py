"""The section of the report on libFM: the settings that were chosen, and its own program beside ours."""

from __future__ import annotations

from collections.abc import Sequence

from bitfm_research.paper._document import Block, Table, Text
from bitfm_research.paper.libfm import TUNED
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import BITS, FEATURES, LIBFM, WITH_IDS
from bitfm_research.plotting import TITLES

__all__ = ["one_libfm"]

_METRICS = ("L2", "linear L2", "learning rate", "epochs")
_INTRODUCTION = (
    "The paper's libFM is here one FM by stochastic gradient descent, the same in Figure 1, Figure 2 and Table 1. A "
    "tenth of the training ratings is held out; on it are chosen the L2 of the linear terms, the L2 of the factors "
    "from the paper's grid (it prints 10^−i for i from −4 to 2; we read 10^i, since already 100 leaves no factors) and "
    "half way to its neighbours, the learning rate from 0.003, 0.01 and 0.03, and the number of epochs. It is then "
    "fitted to all training ratings, once per seed. The linear terms' L2 is that of the longest codes; with features "
    "all settings are those of the shortest."
)
_NOT_RUN = "libFM's own program was not run: there was none on the PATH, and `--libfm` named none."


def one_libfm(means: Means, datasets: Sequence[str]) -> list[Block]:
    """Return the chosen settings, and NDCG@10, RMSE and seconds of libFM's own program beside our FM's."""
    rows = []
    for dataset in datasets:
        for suffix in ("", FEATURES):
            for bits in BITS:
                found = [means.value(dataset, TUNED + suffix, bits, metric) for metric in _METRICS]
                error = means.value(dataset, TUNED + suffix, bits, "validation RMSE")
                if error is not None:
                    shown = ["–" if value is None else f"{value:g}" for value in found]
                    rows.append([TITLES[dataset] + suffix, str(bits), *shown, f"{error:.4f}"])
    blocks: list[Block] = [Text(_INTRODUCTION)]
    if rows:
        blocks.append(Table(["Data set", "Factors", "L2", "L2, linear", "Rate", "Epochs", "Validation RMSE"], rows))
    return [*blocks, *_program(means)]


def _program(means: Means) -> list[Block]:
    rows = []
    for dataset in WITH_IDS:
        for bits in BITS:
            if means.ndcg(dataset, LIBFM, bits, 10) is None:
                continue
            row = [TITLES[dataset], str(bits)]
            for method in (LIBFM, "FM, SGD"):
                values = [means.value(dataset, method, bits, *what) for what in (("NDCG", 10), ("RMSE",), ("seconds",))]
                row += [
                    "–" if value is None else f"{value:.{digits}f}"
                    for value, digits in zip(values, (4, 4, 1), strict=True)
                ]
            rows.append(row)
    if not rows:
        return [Text(_NOT_RUN)]
    head = ["Data set", "Factors"]
    head += [f"{who}: {what}" for who in ("libFM", "ours") for what in ("NDCG@10", "RMSE", "s")]
    told = (
        "libFM's own program with the same settings. It begins without the mean rating, takes the ratings in one "
        "order, and cuts its scores off at the least and the largest rating, which makes ties; its seconds are "
        "those of the whole process."
    )
    return [Text(told), Table(head, rows)]
