// RUN: accord-opt %s --split-input-file --verify-diagnostics
// What must hold between the blocks of a machine.

// expected-error @+1 {{accelerator 'm' has no core}}
accel.accelerator @m {
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
}

// -----

// expected-error @+1 {{accelerator 'm' has no memory}}
accel.accelerator @m {
  accel.core @tc : tensor {array = [8, 8]}
}

// -----

accel.accelerator @m {
  // expected-note @+1 {{see existing symbol definition here}}
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  // expected-error @+1 {{redefinition of symbol named 'hbm'}}
  accel.core @hbm : tensor {array = [8, 8]}
}

// -----

accel.accelerator @m {
  accel.memory @vmem : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  // expected-error @+1 {{core 'tc' reads 'vmen', which is no memory of 'm', did you mean 'vmem'?}}
  accel.core @tc : tensor {array = [8, 8], reads = @vmen}
}

// -----

accel.accelerator @m {
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  accel.core @tc : tensor {array = [8, 8]}
  // expected-error @+1 {{the path names 'vmem', which is no memory or core of 'm'}}
  accel.path [@hbm] -> [@vmem] -> [@tc]
}

// -----

accel.accelerator @m {
  // expected-note @+1 {{'hbm' is declared here}}
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  accel.memory @vmem : scratchpad {capacity = #accel.quantity<8 MiB>, bandwidth = #accel.quantity<1 TB/s>}
  accel.core @tc : tensor {array = [8, 8]}
  // expected-error @+1 {{a path goes from the farthest memory to the nearest, but dram 'hbm' comes after scratchpad 'vmem'}}
  accel.path [@vmem] -> [@hbm] -> [@tc]
}

// -----

accel.accelerator @m {
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  // expected-note @+1 {{'tc' is declared here}}
  accel.core @tc : tensor {array = [8, 8]}
  // expected-error @+1 {{core 'tc' must stand at the end of the path}}
  accel.path [@tc] -> [@hbm]
}

// -----

accel.accelerator @m {
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  accel.core @tc : tensor {array = [8, 8]}
  // expected-error @+1 {{'hbm' occurs twice in one path}}
  accel.path [@hbm] -> [@hbm] -> [@tc]
}

// -----

accel.accelerator @m {
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  accel.core @tc : tensor {array = [8, 8]}
  // expected-note @+1 {{the first one is here}}
  accel.power {tdp = #accel.quantity<40 W>}
  // expected-error @+1 {{a second 'power' block}}
  accel.power {tdp = #accel.quantity<50 W>}
}

// -----

accel.cluster @c {
  // expected-error @+1 {{server 's' has no device}}
  accel.server @s [2] {
  }
}

// -----

// expected-error @+1 {{cluster 'c' has no server and no device}}
accel.cluster @c {
}

// -----

accel.accelerator @a100 {
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  accel.core @tc : tensor {array = [8, 8]}
}
accel.cluster @c {
  // expected-error @+1 {{'a101' is not an accelerator that is described here or imported, did you mean 'a100'?}}
  accel.device @gpu [2] : @a101
}

// -----

accel.accelerator @a100 {
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  accel.core @tc : tensor {array = [8, 8]}
}
accel.cluster @c {
  accel.server @dgx [2] {
    accel.device @gpu [2] : @a100
    // expected-error @+1 {{network 'n' connects 'gpus', which is not declared here, did you mean 'gpu'?}}
    accel.network @n {connects = [@gpus], topology = "ring", bandwidth = #accel.quantity<300 GB/s>}
  }
}

// -----

accel.accelerator @a100 {
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  accel.core @tc : tensor {array = [8, 8]}
}
accel.cluster @c {
  accel.device @gpu [2] : @a100
  // expected-error @+1 {{'topology' must be one of 'switch', 'fully_connected', 'ring', 'mesh', 'torus', 'fat_tree', 'bus', found 'rin', did you mean 'ring'?}}
  accel.network @n {connects = [@gpu], topology = "rin", bandwidth = #accel.quantity<300 GB/s>}
}

// -----

accel.accelerator @a100 {
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  accel.core @tc : tensor {array = [8, 8]}
}
accel.cluster @c {
  accel.server @s [8] {
    accel.device @gpu : @a100
  }
  // expected-error @+1 {{the shape of network 'n' has 9 endpoints, but it connects 8}}
  accel.network @n {connects = [@s], topology = "torus", shape = [3, 3], bandwidth = #accel.quantity<300 GB/s>}
}

// -----

accel.accelerator @a100 {
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  // expected-error @+1 {{sparse nm(5, 4) keeps more than it has}}
  accel.core @tc : tensor {array = [8, 8], sparse = {pattern = "nm", n = 5, m = 4}}
}

// -----

accel.accelerator @a100 {
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  accel.core @tc : tensor {array = [8, 8]}
}
accel.cluster @c {
  accel.device @gpu [2] : @a100
  // expected-error @+1 {{the price is per 'gpus', which is not declared here, did you mean 'gpu'?}}
  accel.price {amount = #accel.quantity<4 USD/h>, per = @gpus}
}

// -----

accel.accelerator @a100 {
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  accel.core @tc : tensor {array = [8, 8]}
}
accel.cluster @c {
  accel.server @s {
    // expected-error @+1 {{no network connects device 'gpu'}}
    accel.device @gpu [2] : @a100
  }
}
