// RUN: accord-opt %s --split-input-file --verify-diagnostics
// Wrong plans are found out from their text.

plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 9 ps {
  plan.core "tc" [2] : tensor
  plan.region @step [1] length 9 ps {
    // expected-note @+1 {{'a' is here}}
    plan.slot "a" on "tc"[0] start 0 ps duration 5 ps
    // expected-error @+1 {{precedence violated: 'a' ends at 5 ps but 'b' starts at 4 ps}}
    plan.slot "b" on "tc"[1] start 4 ps duration 5 ps after ["a"]
  }
}

// -----

plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 9 ps {
  plan.core "tc" [2] : tensor
  plan.region @step [1] length 9 ps {
    // expected-note @+1 {{'a' is here}}
    plan.slot "a" on "tc"[1] start 0 ps duration 5 ps
    // expected-error @+1 {{'b' starts at 4 ps on 'tc'[1], which 'a' holds until 5 ps}}
    plan.slot "b" on "tc"[1] start 4 ps duration 5 ps
  }
}

// -----

plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 40 ps {
  plan.core "tc" [1] : tensor
  plan.region @step [1] length 40 ps {
    // expected-note @+1 {{'block' is here}}
    plan.slot "block" runs @block start 0 ps duration 30 ps
    // A repeat holds the cores of its body all the while.
    // expected-error @+1 {{'b' starts at 29 ps on 'tc'[0], which 'block' holds until 30 ps}}
    plan.slot "b" on "tc"[0] start 29 ps duration 5 ps
  }
  plan.region @block [3] length 10 ps {
    plan.slot "x" on "tc"[0] start 0 ps duration 5 ps
  }
}

// -----

plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 40 ps {
  plan.region @step [1] length 40 ps {
    // expected-error @+1 {{'block' lasts 31 ps, but 3 iterations of 10 ps are 30 ps}}
    plan.slot "block" runs @block start 0 ps duration 31 ps
  }
  // expected-note @+1 {{region 'block' is here}}
  plan.region @block [3] length 10 ps {
  }
}

// -----

plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 40 ps {
  plan.region @step [1] length 40 ps {
    // expected-error @+1 {{'block' lasts 30 ps, but 3 iterations of 10 ps and an overhang of 4 ps are 34 ps}}
    plan.slot "block" runs @block start 0 ps duration 30 ps
  }
  // expected-note @+1 {{region 'block' is here}}
  plan.region @block [3] length 10 ps overhang 4 ps {
  }
}

// -----

// Iterations overlap: what runs in one period is of several of them.
plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 40 ps {
  plan.core "tc" [1] : tensor
  plan.region @step [1] length 40 ps {
    plan.slot "block" runs @block start 0 ps duration 34 ps
  }
  plan.region @block [3] length 10 ps overhang 4 ps {
    // expected-error @+1 {{'x' starts at 0 ps on 'tc'[0], which 'y' holds until 14 ps}}
    plan.slot "x" on "tc"[0] start 0 ps duration 5 ps
    // expected-note @+1 {{'y' is here}}
    plan.slot "y" on "tc"[0] start 7 ps duration 7 ps
  }
}

// -----

plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 40 ps {
  // expected-note @+1 {{region 'block' is here}}
  plan.region @block [3] length 10 ps overhang 4 ps {
    // expected-error @+1 {{'y' ends at 15 ps, after its region's 14 ps}}
    plan.slot "y" start 7 ps duration 8 ps
  }
}

// -----

plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 0 ps {
  // expected-error @+1 {{region 'x' runs itself}}
  plan.region @x [1] length 10 ps {
    plan.slot "y" runs @y start 0 ps duration 10 ps
  }
  plan.region @y [1] length 10 ps {
    plan.slot "x" runs @x start 0 ps duration 10 ps
  }
}

// -----

plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 9 ps {
  plan.core "tc" [1] : tensor
  // expected-note @+1 {{region 'step' is here}}
  plan.region @step [1] length 9 ps {
    // expected-error @+1 {{'a' ends at 10 ps, after its region's 9 ps}}
    plan.slot "a" on "tc"[0] start 5 ps duration 5 ps
  }
}

// -----

plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 9 ps {
  // expected-note @+1 {{core 'tc' is here}}
  plan.core "tc" [1] : tensor
  plan.region @step [1] length 9 ps {
    // expected-error @+1 {{'a' is on 'tc'[1], but there are 1}}
    plan.slot "a" on "tc"[1] start 0 ps duration 5 ps
  }
}

// -----

plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 9 ps {
  plan.region @step [1] length 9 ps {
    // expected-error @+1 {{'a' waits for 'c', which has no slot in this region}}
    plan.slot "a" start 0 ps duration 0 ps after ["c"]
  }
}

// -----

plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 9 ps {
  plan.region @step [1] length 9 ps {
    // expected-note @+1 {{the first one is here}}
    plan.slot "a" start 0 ps duration 0 ps
    // expected-error @+1 {{'a' has two slots}}
    plan.slot "a" start 0 ps duration 0 ps
  }
}

// -----

// expected-error @+1 {{objective 'step_time' of 3.0}}
plan.placement @p model "m" on "a" minimize "step_time" value 3.0 bound 4.0 step 0 ps {
}

// -----

// expected-error @+1 {{is above its bound of}}
plan.placement @p model "m" on "a" maximize "throughput" value 5.0 bound 4.0 step 0 ps {
}

// -----

// expected-error @+1 {{the step is given as 19 ps, but its regions take 18 ps}}
plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 19 ps {
  plan.region @step [2] length 9 ps {
  }
}

// -----

// expected-note @+1 {{the step is given here}}
plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 9 ps {
  plan.region @step [1] length 9 ps {
  }
  // expected-error @+1 {{the step of 9 ps is shorter than its bound of 10 ps by critical path}}
  plan.bound "critical path" step 10 ps
}

// -----

plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 0 ps {
  // expected-note @+1 {{memory 'hbm' is here}}
  plan.memory "hbm" capacity 100
  plan.residency "weights" in "hbm" bytes 60
  // expected-error @+1 {{'gradients' brings memory 'hbm' to 120 B of 100 B}}
  plan.residency "gradients" in "hbm" bytes 60
}

// -----

// An infeasible plan may not fit; it says why.
plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 0 ps {
  plan.memory "hbm" capacity 100
  plan.residency "weights" in "hbm" bytes 160
  plan.conflict "device memory" : "needs 160 B, hbm has 100 B"
}

// -----

plan.placement @p model "m" on "a" minimize "step_time" value 5.0 bound 4.0 step 0 ps {
  // expected-error @+1 {{'x' moves from 'gpu0' to itself}}
  plan.transfer "x" from "gpu0" to "gpu0" bytes 4096 start 0 ps duration 10 ps
}
