// RUN: accord-opt %s --split-input-file --verify-diagnostics
// Keys and values: what the schema refuses.

accel.accelerator @m {
  // expected-error @+1 {{'capactiy' is not a key of a dram memory, did you mean 'capacity'?}}
  accel.memory @hbm : dram {capactiy = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
}

// -----

accel.accelerator @m {
  // expected-error @+1 {{a dram memory needs 'bandwidth'}}
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>}
}

// -----

accel.accelerator @m {
  // expected-error @+1 {{'capacity' must be positive, found 0 GiB}}
  accel.memory @hbm : dram {capacity = #accel.quantity<0 GiB>, bandwidth = #accel.quantity<1 GB/s>}
}

// -----

accel.accelerator @m {
  // expected-error @+1 {{'capacity' must be}}
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GB/s>, bandwidth = #accel.quantity<1 GB/s>}
}

// -----

accel.accelerator @m {
  // expected-error @+1 {{'drum' is not a kind of memory, did you mean 'dram'?}}
  accel.memory @hbm : drum {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
}

// -----

accel.accelerator @m {
  // expected-error @+1 {{core 'tc' states neither 'peak' nor 'array' nor a microarchitecture, so its speed is unknown}}
  accel.core @tc : tensor {dataflow = "weight_stationary"}
}

// -----

accel.accelerator @m {
  // expected-error @+1 {{'efficiency' must be above 0 and at most 1, found 1.2}}
  accel.core @tc : tensor {array = [8, 8], efficiency = #accel.quantity<"1.2">}
}

// -----

accel.accelerator @m {
  // expected-error @+1 {{the count in brackets must be positive, found 0}}
  accel.core @tc [0] : tensor {array = [8, 8]}
}

// -----

accel.accelerator @m {
  // expected-error @+1 {{'sparse' has a wrong value: 'rate' must be at least 1, found 0.5}}
  accel.core @tc : tensor {array = [8, 8], sparse = {pattern = "nm", n = 2, m = 4, rate = #accel.quantity<"0.5">}}
}

// -----

accel.accelerator @m {
  // expected-error @+2 {{'tdp' of 40 W is below 'idle' of 60 W}}
  // expected-note @+1 {{'idle' is here}}
  accel.power {tdp = #accel.quantity<40 W>, idle = #accel.quantity<60 W>}
}

// -----

// expected-error @+1 {{unknown unit}}
module attributes {t.a = #accel.quantity<80 GXiB>} {}

// -----

// expected-error @+1 {{a quantity's denominator must be positive}}
module attributes {t.a = #accel.quantity<= 1/0 B>} {}

// -----

// expected-error @+1 {{'parsec' is not a base unit}}
module attributes {t.a = #accel.quantity<= 1 parsec>} {}

// -----

// expected-error @+1 {{the last value of a choice is below its first}}
module attributes {t.a = #accel.choice<range [8, 1]>} {}

// -----

// expected-error @+1 {{the values of a choice must have one dimension}}
module attributes {t.a = #accel.choice<pow2 [#accel.quantity<1 B>, #accel.quantity<2 W>]>} {}
