// RUN: accord-opt %s --split-input-file --verify-diagnostics
// Wrong decisions are found out from their text.

// expected-error @+1 {{objective 'step_time' of 1.000000e+00 is below its bound of 2.000000e+00}}
plan.design_choice @d of "space" designs "4" minimize "step_time" value 1.0 bound 2.0 by "exact" evaluations 1 {
  plan.design_parameter "cores" is "8"
}

// -----

// expected-error @+1 {{has neither a 'plan.design_parameter' nor a 'plan.conflict'}}
plan.design_choice @d of "space" designs "4" minimize "step_time" value 1.0 bound 2.0 by "exact" evaluations 1 {
}

// -----

// expected-error @+1 {{objective 'step_time' of 4 is below its bound of 5}}
plan.sparsity @s model "m" on "a" minimize "step_time" value 4 bound 5 confidence 0.95 {
}

// -----

// expected-error @+1 {{has neither a 'plan.member' nor a 'plan.conflict'}}
plan.ensemble @e of "whole" minimize "energy" value 1.0 bound 1.0 error "1" by "" confidence "0.95" {
}

// -----

plan.latency_model @l model "m" on "a" evaluate @f step 1.0 {
  plan.latency_argument "batch" unit "samples" default 1.0 from 1.0 to 2.0 multiple 1
  plan.latency_sample at [1.0] seconds 1.0 bytes 1.0 flops 1.0
}

// -----

// expected-error @+1 {{has a sample of 2 arguments, the model has 1}}
plan.latency_model @l model "m" on "a" evaluate @f step 1.0 {
  plan.latency_argument "batch" unit "samples" default 1.0 from 1.0 to 2.0 multiple 1
  plan.latency_sample at [1.0, 2.0] seconds 1.0 bytes 1.0 flops 1.0
}

// -----

plan.latency_model @l model "m" on "a" evaluate @f step 1.0 {
  // expected-error @+1 {{'batch' has a default outside of its interval}}
  plan.latency_argument "batch" unit "samples" default 3.0 from 1.0 to 2.0 multiple 1
}
