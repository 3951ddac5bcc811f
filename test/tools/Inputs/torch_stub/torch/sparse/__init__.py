"""A stub of torch.sparse: weights of which four neighbours exist are stored, nothing is computed."""
from torch import Tensor
class SparseSemiStructuredTensor(Tensor):
    @classmethod
    def prune_dense_static_sort(cls, weights): assert weights.shape[0] % 4 == weights.shape[1] % 4 == 0; return cls(*weights.shape)
def to_sparse_semi_structured(weights): assert weights.shape[1] % 4 == 0; return SparseSemiStructuredTensor(*weights.shape)
