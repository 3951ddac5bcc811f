"""A stub of the parts of PyTorch that measure.py calls: sizes are checked, nothing is computed."""
import contextlib
class Tensor:
    def __init__(self, *s): self.shape = s
    def __add__(self, o): assert not isinstance(o, Tensor) or o.shape == self.shape; return self
    __mul__ = __add__
    def clone(self): return self
    def zero_(self): return self
float32 = bfloat16 = float16 = int8 = "type"
def randn(*s, dtype, device): assert all(x > 0 for x in s); return Tensor(*s)
def zeros(*s, dtype, device): return Tensor(*s)
empty = zeros
def tanh(x): return x
def bmm(a, b): assert a.shape[0] == b.shape[0] and a.shape[2] == b.shape[1]; return a
class device:
    def __init__(self, n, index=None): self.type, self.index = n, index
no_grad = contextlib.nullcontext
class cuda:
    @staticmethod
    def is_available(): return False
