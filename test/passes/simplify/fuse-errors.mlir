// RUN: accord-opt %s -verify-diagnostics --pass-pipeline="builtin.module(dnn.training_graph(fuse{max-bodies=0}))"

// expected-error@below {{'max-bodies' of 'fuse' is at least 1, found 0}}
dnn.training_graph @empty attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.microbatch () {
  }
  dnn.optimizer_step {
  }
}
