"""Builds transformers that interpolate sequence datasets exactly; ``proofs`` checks them.

>>> import interp
>>> dataset = interp.load_dataset("bundled:japanese_vowels_30")
>>> transformer = interp.build(dataset)
>>> interp.verify(transformer, dataset).status.label
'verified'
"""

from interp.api import audit, build, load_transformer, save_transformer, verify
from interp.datasets.read import load_dataset
from interp.version import VERSION as __version__
from proofs.kernel.model import Transformer
from proofs.kernel.statement import Dataset

__all__ = [
    "Dataset",
    "Transformer",
    "__version__",
    "audit",
    "build",
    "load_dataset",
    "load_transformer",
    "save_transformer",
    "verify",
]
