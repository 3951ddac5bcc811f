"""Models that nobody trained, which several launchers are tried on."""

# Llama's blocks between one table of an odd number of tokens, and experts whose weights are their shares of all.
TIED = """model tied(seq = 1024) {
  input tokens : int32[seq]
  input labels : int32[seq]
  let words = parameter([49999, 3072])
  var x = embedding(tokens, rows = 49999, dim = 3072, table = words)
  repeat 8 as block {
    x = x + attention(rms_norm(x), heads = 24, kv_heads = 8, causal = true, bias = false, rotary = true)
    x = x + swiglu_mlp(rms_norm(x), 3072, 8192)
  }
  loss cross_entropy(linear(rms_norm(x), out = 49999, bias = false, weight = words), labels)
}
"""
SHARES = """model shares(seq = 1024) {
  input tokens : int32[seq]
  input labels : int32[seq]
  var x = embedding(tokens, rows = 32000, dim = 2048)
  repeat 8 as block {
    x = x + attention(rms_norm(x), heads = 16, kv_heads = 4, causal = true, bias = false, rotary = true)
    x = x + moe(rms_norm(x), experts = 16, inner = 1408, top_k = 4, capacity_factor = 1, gated = true, normalize = false)
  }
  loss cross_entropy(linear(rms_norm(x), out = 32000, bias = false), labels)
}
"""
