dnn.model @net (%x: tensor<?x4xf32>, %t: tensor<?x4xf32>) attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.parameter @fc.weight : tensor<4x4xf32> copies 3
  %r = dnn.repeat 3 as "block" iter(%a = %x : tensor<?x4xf32>) {
    %w = dnn.read @fc.weight : tensor<4x4xf32>
    %y = dnn.linear %a, %w {dnn.name = "fc"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %z, %mask = dnn.dropout %y {rate = 0.1 : f64, dnn.name = "drop"} : (tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xi8>)
    %g = dnn.gelu %z {dnn.name = "act"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    dnn.yield %g : tensor<?x4xf32>
  }
  %l = dnn.mse %r, %t {dnn.name = "loss"} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}
