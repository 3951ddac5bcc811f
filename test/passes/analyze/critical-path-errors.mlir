// RUN: accord-opt %s -split-input-file -verify-diagnostics --critical-path

dnn.training_graph @net attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.microbatch (%x: tensor<?x4xf32>) {
    // expected-error@below {{'act' has no 'plan.time': run 'estimate-cost' first}}
    %y = dnn.relu %x {dnn.name = "act"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  }
  dnn.optimizer_step {
  }
}

// -----

dnn.training_graph @net attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.microbatch (%x: tensor<?x4xf32>) {
    // expected-error@below {{'act' has a 'plan.time' that is no number of picoseconds (i64, 0 or more)}}
    %y = dnn.relu %x {dnn.name = "act", plan.time = -1} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  }
  dnn.optimizer_step {
  }
}

// -----

// expected-error@below {{the step takes longer than 26 days, one operation after the other}}
dnn.training_graph @net attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.microbatch (%x: tensor<?x4xf32>) {
    %y = dnn.relu %x {dnn.name = "act", plan.time = 9000000000000000000} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  }
  dnn.optimizer_step {
  }
}
