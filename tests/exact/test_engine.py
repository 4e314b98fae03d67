"""The engine of both searches: what it counts where it is stopped."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from sparsebounds._support.deadline import TimeUp
from sparsebounds.exact.feature_search import FeatureSearch


class Stopped(FeatureSearch):
    """A search whose first batch of nodes takes a while and does not end."""

    end: type[BaseException] = TimeUp

    def settle(self, *_: Any) -> Any:
        raise NotImplementedError

    def progress(self) -> Any:
        raise NotImplementedError

    def _close_open(self) -> bool:
        return True

    def _step(self) -> None:
        time.sleep(0.02)
        raise self.end


def test_time_counts_where_a_batch_was_given_up() -> None:
    search = Stopped(None, None, float, SimpleNamespace(memory=None))  # type: ignore[arg-type]
    search.run(lambda: False)
    assert search.seconds >= 0.02
    search.end = KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        search.run(lambda: False)
    assert search.seconds >= 0.04
