"""Of the stub: see torch/__init__.py."""
def linear(x, w): assert x.shape[1] == w.shape[1]; return x
def scaled_dot_product_attention(q, k, v): assert k.shape == v.shape and q.shape[-1] == k.shape[-1]; return q
def softmax(x, dim): return x
def layer_norm(x, s): assert x.shape[-1:] == s; return x
def gelu(x): return x
relu = gelu
