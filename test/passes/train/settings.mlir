// Options win over the dnn.train, which wins over the model.
// RUN: accord-opt %s --build-training-graph | FileCheck %s --check-prefix=TRAIN
// RUN: accord-opt %s --build-training-graph="optimizer=adam precision=mixed(bf16,gradients=fp32)" | FileCheck %s --check-prefix=OPTION
// RUN: not accord-opt %s --build-training-graph="optimizer=adamw2" 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: not accord-opt %s --build-training-graph="precision=fp12" 2>&1 | FileCheck %s --check-prefix=FORMAT

// TRAIN: dnn.training_graph @net attributes {optimizer = #dnn.optimizer<momentum>, precision = #dnn.precision<tf32>}
// OPTION: dnn.training_graph @net attributes {optimizer = #dnn.optimizer<adam>, precision = #dnn.precision<mixed, bf16, gradients = f32>}
// BAD: there is no optimizer 'adamw2'; there are sgd, momentum, adam and adamw
// FORMAT: there is no precision 'fp12'
dnn.model @net (%l: tensor<f32>) attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<tf32>} {
  dnn.loss %l : tensor<f32>
}
dnn.train @job of @net {optimizer = #dnn.optimizer<momentum>}
