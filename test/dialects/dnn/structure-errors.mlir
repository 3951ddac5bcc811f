// RUN: accord-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{model 'net' has no loss}}
dnn.model @net (%x: tensor<?x4xf32>) {
}

// -----

dnn.model @net (%l: tensor<f32>) {
  // expected-note @+1 {{the other one}}
  dnn.loss %l : tensor<f32>
  // expected-error @+1 {{model 'net' has two losses}}
  dnn.loss %l : tensor<f32>
}

// -----

dnn.model @net (%l: tensor<f32>) {
  dnn.repeat 2 as "block" {
    // expected-error @+1 {{the loss must stand at the top of a model, not inside a repeat}}
    dnn.loss %l : tensor<f32>
  }
  dnn.loss %l : tensor<f32>
}

// -----

dnn.model @net (%l: tensor<?xf32>) {
  // expected-error @+1 {{the loss must be one number, found 'tensor<?xf32>'}}
  dnn.loss %l : tensor<?xf32>
}

// -----

dnn.model @net (%l: tensor<f32>) {
  // expected-error @+1 {{there is no parameter 'v'}}
  %v = dnn.read @v : tensor<4xf32>
  dnn.loss %l : tensor<f32>
}

// -----

dnn.model @net (%l: tensor<f32>) {
  // expected-note @+1 {{the parameter is 'tensor<4xf32>'}}
  dnn.parameter @w : tensor<4xf32>
  // expected-error @+1 {{the value of parameter 'w' has type 'tensor<5xf32>'}}
  %v = dnn.read @w : tensor<5xf32>
  dnn.loss %l : tensor<f32>
}

// -----

dnn.model @net (%l: tensor<f32>) {
  // expected-note @+1 {{the parameter}}
  dnn.parameter @w : tensor<4xf32>
  dnn.repeat 3 as "block" {
    // expected-error @+1 {{parameter 'w' has 1 copies but is read in repeats of 3 iterations}}
    %v = dnn.read @w : tensor<4xf32>
  }
  dnn.loss %l : tensor<f32>
}

// -----

dnn.model @net (%l: tensor<f32>) {
  dnn.parameter @w : tensor<4xf32> copies 3
  dnn.repeat 3 as "a" {
    // expected-note @+1 {{the first read; read it once outside and use the value in both}}
    %v = dnn.read @w : tensor<4xf32>
  }
  dnn.repeat 3 as "b" {
    // expected-error @+1 {{parameter 'w' is read in two different regions}}
    %v = dnn.read @w : tensor<4xf32>
  }
  dnn.loss %l : tensor<f32>
}

// -----

// expected-error @+1 {{parameter 'w' must be a float tensor of static shape, found 'tensor<?x4xf32>'}}
dnn.parameter @w : tensor<?x4xf32>

// -----

// expected-error @+1 {{parameter 'w' has 0 copies}}
dnn.parameter @w : tensor<4xf32> copies 0

// -----

// expected-error @+1 {{has more than 2^59 bytes}}
dnn.parameter @w : tensor<1000000000x1000000000xf32>

// -----

func.func @f(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{repeat 'block' runs 0 times}}
  %y = dnn.repeat 0 as "block" iter(%a = %x : tensor<?x4xf32>) {
    dnn.yield %a : tensor<?x4xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %z: tensor<?x5xf32>) {
  // expected-note @+1 {{of repeat 'block'}}
  %y = dnn.repeat 2 as "block" iter(%a = %x : tensor<?x4xf32>) {
    // expected-error @+1 {{the yielded values do not have the types of the carried values}}
    dnn.yield %z : tensor<?x5xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>) {
  // expected-note @+1 {{of repeat 'block'}}
  %y, %s = dnn.repeat 2 as "block" iter(%a = %x : tensor<?x4xf32>) stash(!dnn.stash<3 x tensor<?x4xf32>>) {
    // expected-error @+1 {{a stashed value does not have the type of the stash's slices}}
    dnn.yield %a : tensor<?x4xf32> stash(%a : tensor<?x4xf32>)
  }
  return
}

// -----

func.func @f(%s: !dnn.stash<3 x tensor<?x4xf32>>) {
  // expected-error @+1 {{repeat 'block' of 2 iterations reads '!dnn.stash<3 x tensor<?x4xf32>>' as 'tensor<?x4xf32>'}}
  dnn.repeat 2 as "block" unstash(%a = %s : !dnn.stash<3 x tensor<?x4xf32>>) {
  }
  return
}

// -----

// expected-error @+1 {{training graph 'g' has no gradient for parameter 'w'}}
dnn.training_graph @g attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  // expected-note @+1 {{the parameter}}
  dnn.parameter @w : tensor<4xf32>
  dnn.microbatch () {
  }
  dnn.optimizer_step {
    dnn.update @w : tensor<4xf32> {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>}
  }
}

// -----

// expected-error @+1 {{training graph 'g' has no update for parameter 'w'}}
dnn.training_graph @g attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  // expected-note @+1 {{the parameter}}
  dnn.parameter @w : tensor<4xf32>
  dnn.microbatch (%dw: tensor<4xf32>) {
    dnn.gradient @w, %dw : tensor<4xf32>
  }
  dnn.optimizer_step {
  }
}

// -----

dnn.training_graph @g attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  // expected-note @+1 {{the parameter}}
  dnn.parameter @w : tensor<4xf32>
  dnn.microbatch (%dw: tensor<4xf32>) {
    // expected-note @+1 {{the first one}}
    dnn.gradient @w, %dw : tensor<4xf32>
    // expected-error @+1 {{parameter 'w' has a second gradient}}
    dnn.gradient @w, %dw : tensor<4xf32>
  }
  dnn.optimizer_step {
    dnn.update @w : tensor<4xf32> {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>}
  }
}

// -----

dnn.training_graph @g attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  // expected-note @+1 {{the parameter}}
  dnn.parameter @w : tensor<4xf32> copies 5
  dnn.microbatch (%dw: tensor<4xf32>) {
    // expected-error @+1 {{parameter 'w' has 5 copies but is given a gradient in repeats of 1 iterations}}
    dnn.gradient @w, %dw : tensor<4xf32>
  }
  dnn.optimizer_step {
    dnn.update @w : tensor<4xf32> copies 5 {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>}
  }
}

// -----

dnn.training_graph @g attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<mixed, bf16, products = f8E4M3FN>} {
  dnn.parameter @w : tensor<16x16xbf16>
  dnn.microbatch (%dw: tensor<16x16xbf16>) {
    // expected-error @+1 {{parameter 'w' is read in 'f8E4M3FN', to which no update quantizes it}}
    %w = dnn.read @w : tensor<16x16xf8E4M3FN>
    dnn.gradient @w, %dw : tensor<16x16xbf16>
  }
  dnn.optimizer_step {
    // expected-note @+1 {{the update}}
    dnn.update @w : tensor<16x16xbf16> {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<mixed, bf16>}
  }
}

// -----

dnn.training_graph @g attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<mixed, bf16>} {
  dnn.parameter @w : tensor<16x16xbf16>
  dnn.microbatch (%dw: tensor<16x16xbf16>) {
    %w = dnn.read @w : tensor<16x16xbf16>
    dnn.gradient @w, %dw : tensor<16x16xbf16>
  }
  dnn.optimizer_step {
    // expected-error @+1 {{the update quantizes parameter 'w' to 'f8E4M3FN', in which nothing reads it}}
    dnn.update @w : tensor<16x16xbf16> {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<mixed, bf16>, quantized = f8E4M3FN}
  }
}

// -----

dnn.training_graph @g attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<mixed, bf16>} {
  dnn.parameter @w : tensor<16x16xbf16>
  dnn.microbatch (%dw: tensor<16x16xbf16>) {
    dnn.gradient @w, %dw : tensor<16x16xbf16>
  }
  dnn.optimizer_step {
    // expected-error @+1 {{weights are quantized to a floating-point type of 8 bits, found 'f32'}}
    dnn.update @w : tensor<16x16xbf16> {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<mixed, bf16>, quantized = f32}
  }
}
