// What a stated operation may not be.
// RUN: accord-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect

func.func @maps(%x: tensor<?x8xf32>) {
  // expected-error@below {{'custom' has a map for each operand and for the result, found 1 for 1 operands}}
  %y = dnn.custom "f" %x over [?, 8] {body = #dnn.scalar<x0>, maps = [affine_map<(n, i) -> (n, i)>]} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @outside(%x: tensor<?x8xf32>) {
  // expected-error@below {{map affine_map<(d0, d1) -> (d0, d1 + 1)> reaches positions 1 to 8 of a dimension of extent 8}}
  %y = dnn.custom "f" %x over [?, 8] {body = #dnn.scalar<x0>, maps = [affine_map<(n, i) -> (n, i + 1)>, affine_map<(n, i) -> (n, i)>]} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @quotient(%x: tensor<?x8xf32>) {
  // expected-error@below {{is not a sum of multiples of positions within the tensor}}
  %y = dnn.custom "f" %x over [?, 8] {body = #dnn.scalar<x0>, maps = [affine_map<(n, i) -> (n, i floordiv 2)>, affine_map<(n, i) -> (n, i)>]} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @rank(%x: tensor<?x8xf32>) {
  // expected-error@below {{has 1 results for a tensor of 2 dimensions}}
  %y = dnn.custom "f" %x over [?, 8] {body = #dnn.scalar<x0>, maps = [affine_map<(n, i) -> (n)>, affine_map<(n, i) -> (n, i)>]} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @batch(%x: tensor<?x8xf32>) {
  // expected-error@below {{walks the batch along a dimension of extent 8}}
  %y = dnn.custom "f" %x over [?, ?] {body = #dnn.scalar<x0>, maps = [affine_map<(n, i) -> (n, i)>, affine_map<(n, i) -> (n, i)>]} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @operand(%x: tensor<?x8xf32>) {
  // expected-error@below {{the body reads x1, found 1 operands}}
  %y = dnn.custom "f" %x over [?, 8] {body = #dnn.scalar<mul(x0, x1)>, maps = [affine_map<(n, i) -> (n, i)>, affine_map<(n, i) -> (n, i)>]} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @sample(%x: tensor<?x8xf32>) {
  // expected-error@below {{the body reads i0, the position of a sample in its batch}}
  %y = dnn.custom "f" %x over [?, 8] {body = #dnn.scalar<mul(x0, i0)>, maps = [affine_map<(n, i) -> (n, i)>, affine_map<(n, i) -> (n, i)>]} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @nothing(%x: tensor<?x8xf32>) {
  // expected-error@below {{points that combine by max must reach every element of the result}}
  %y = dnn.custom "f" %x over [?, 8] {body = #dnn.scalar<x0>, combine = #dnn.combine<max>, maps = [affine_map<(n, i) -> (n, i)>, affine_map<(n, i) -> (n, i)>]} : (tensor<?x8xf32>) -> tensor<?x9xf32>
  return
}

// -----

func.func @stated(%x: tensor<?x8xf32>) {
  // expected-error@below {{a stated gradient names operands, what it reads}}
  %y = dnn.custom "f" %x over [?, 8] {body = #dnn.scalar<x0>, maps = [affine_map<(n, i) -> (n, i)>, affine_map<(n, i) -> (n, i)>], gradients = [
    #dnn.stated<of = [1], reads = [-2], domain = [8], maps = [], body = #dnn.scalar<x0>>]} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

// expected-error@below {{'tan' is no function, operand (x0) or position (i0) of an expression}}
"test.op"() {body = #dnn.scalar<tan(x0)>} : () -> ()

// -----

// expected-error@below {{'mul' takes 2 operands, found 1}}
"test.op"() {body = #dnn.scalar<mul(x0)>} : () -> ()
