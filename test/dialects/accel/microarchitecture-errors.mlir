// RUN: accord-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{a microarchitecture needs 'window'}}
accel.microarchitecture @m {
}

// -----

// expected-error @below {{microarchitecture 'm' has no 'fetch'}}
accel.microarchitecture @m with {window = 1} {
}

// -----

accel.microarchitecture @m with {window = 1} {
  // expected-error @below {{'usnit' is not a kind of part, did you mean 'unit'?}}
  accel.part @u : usnit {entries = 1}
}

// -----

accel.microarchitecture @m with {window = 1} {
  // expected-error @below {{'entries' must be positive, found 0}}
  accel.part @u : unit {entries = 0}
}

// -----

accel.microarchitecture @m with {window = 1} {
  // expected-error @below {{there is one 'm': memory has no count}}
  accel.part @m [2] : memory {size = #accel.quantity<1 KiB>, port_width = #accel.quantity<4 B>, requests = 1}
}

// -----

accel.microarchitecture @m with {window = 1} {
  // expected-note @below {{the first one is here}}
  accel.part @f : fetch {width = 1, buffer = 1, to = @x}
  // expected-error @below {{a second 'fetch'}}
  accel.part @g : fetch {width = 1, buffer = 1, to = @x}
  accel.part @x : execute {capacity = 1, units = [@u]}
  accel.part @u : unit {entries = 1}
}

// -----

accel.microarchitecture @m with {window = 1} {
  // expected-error @below {{there is no 'y' here}}
  accel.part @f : fetch {width = 1, buffer = 1, to = @y}
}

// -----

accel.microarchitecture @m with {window = 1} {
  // expected-note @below {{'f' is declared here}}
  accel.part @f : fetch {width = 1, buffer = 1, to = @x}
  // expected-error @below {{'units' of 'x' names a part of kind 'unit', but 'f' is of kind 'fetch'}}
  accel.part @x : execute {capacity = 1, units = [@f]}
}

// -----

accel.microarchitecture @m with {window = 1} {
  // expected-error @below {{'latency' must be cycles, which may depend on 'bytes' and immediates ('imm0'), found 'rows'}}
  accel.part @s : stage {capacity = 1, to = [@s], latency = #accel.apply<"+" [#accel.reference<"rows">, #accel.quantity<"1">]>}
}

// -----

accel.microarchitecture @m with {window = 1} {
  // expected-error @below {{'latency' is computed with + - * / min max ceil_div, not '%' of 2}}
  accel.part @s : stage {capacity = 1, to = [@s], latency = #accel.apply<"%" [#accel.reference<"bytes">, #accel.quantity<"2">]>}
}

// -----

accel.microarchitecture @m with {window = 1} {
  // expected-error @below {{'latency' must be from 0 to 2^30 cycles, found -1}}
  accel.part @s : stage {capacity = 1, to = [@s], latency = #accel.quantity<= -1>}
}

// -----

accel.microarchitecture @m with {window = 1} {
  // expected-error @below {{'latency' is made of whole numbers, found 0.5}}
  accel.part @s : stage {capacity = 1, to = [@s], latency = #accel.quantity<"0.5">}
}
