"""A stub of the parts of PyTorch that measure.py calls: sizes are checked, nothing is computed."""
import contextlib
class Tensor:
    def __init__(self, *s): self.shape = s
    def __add__(self, o): assert not isinstance(o, Tensor) or o.shape == self.shape; return self
    __mul__ = __add__
    def clone(self): return self
    def zero_(self): return self
    def abs(self): return self
    def reshape(self, *s):
        s = s[0] if isinstance(s[0], tuple) else s
        size = 1
        for x in self.shape: size *= x
        return Tensor(*(size // s[1] if x == -1 else x for x in s))
    def topk(self, n, dim): assert dim == 1; self.indices = Tensor(self.shape[0], n); return self
    def scatter(self, dim, where, value): assert where.shape[0] == self.shape[0]; return self
float32 = bfloat16 = float16 = int8 = "type"
def randn(*s, dtype, device): assert all(x > 0 for x in s); return Tensor(*s)
def zeros(*s, dtype, device): return Tensor(*s)
empty = zeros
def zeros_like(x): return Tensor(*x.shape)
def tanh(x): return x
def bmm(a, b): assert a.shape[0] == b.shape[0] and a.shape[2] == b.shape[1]; return a
class device:
    def __init__(self, n, index=None): self.type, self.index = n, index
no_grad = contextlib.nullcontext
class cuda:
    @staticmethod
    def is_available(): return False
