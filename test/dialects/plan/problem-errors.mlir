// RUN: accord-opt %s --split-input-file --verify-diagnostics
// Wrong problems and schedules are found out from their text.

plan.problem @p {
  // expected-error @+1 {{'a' uses 'core', which is no resource of this problem, or several}}
  plan.task "a" modes duration 3 uses "core" 1
}

// -----

plan.problem @p {
  plan.task "a" modes duration 3
  plan.task "a" modes duration 4
  // expected-error @+1 {{'a' is no task of this problem, or several}}
  plan.precedence "a" before "#1"
}

// -----

plan.problem @p {
  plan.task "a" modes duration 3
  // expected-error @+1 {{'x' is in 'hbm', which is no memory of this problem, or several}}
  plan.buffer "x" bytes 4 in "hbm" made_by "a"
}

// -----

plan.problem @p {
  // expected-error @+1 {{'a': mode 0 needs a duration of 0 or more}}
  plan.task "a" modes duration -3
}

// -----

plan.problem @p {
  plan.task "a" modes duration 3
  // expected-note @+1 {{'b' is here}}
  plan.task "b" modes duration 3 or duration 4
  // expected-error @+1 {{mode 2 of 'b', which has 2}}
  plan.pairing "a" with "b" allows 0-2
}

// -----

plan.problem @p {
  plan.task "a" modes duration 3
  plan.task "b" modes duration 3
  // expected-note @+1 {{the precedence is here}}
  plan.precedence "a" before "b" delay 2
}
plan.solution of @p feasible makespan 7 {
  // expected-note @+1 {{'a' ends at 3}}
  plan.start "a" at 0
  // expected-error @+1 {{'b' starts at 4 but may start at 5, after 'a'}}
  plan.start "b" at 4
}

// -----

plan.problem @p {
  // expected-note @+1 {{'core' is here}}
  plan.resource "core" capacity 2
  plan.task "a" modes duration 3 uses "core" 1
  plan.task "b" modes duration 3 uses "core" 2
}
plan.solution of @p feasible makespan 5 {
  plan.start "a" at 0
  // expected-error @+1 {{'b' brings 'core' to 3 of 2 at 2}}
  plan.start "b" at 2
}

// -----

plan.problem @p {
  // expected-note @+1 {{'a' is here}}
  plan.task "a" modes duration 3
}
// expected-error @+1 {{'a' never starts}}
plan.solution of @p feasible makespan 0 {
}

// -----

plan.problem @p {
  plan.task "a" modes duration 3
}
// expected-error @+1 {{the makespan is given as 4, but the last task ends at 3}}
plan.solution of @p feasible makespan 4 {
  plan.start "a" at 0
}

// -----

plan.problem @p {
  plan.task "a" modes duration 3
}
// expected-note @+1 {{the schedule is here}}
plan.solution of @p feasible makespan 3 {
  plan.start "a" at 0
  // expected-error @+1 {{no schedule takes less than 4, it says, but this one takes 3}}
  plan.lower_bound 4 kind "solver" by "z3"
}

// -----

plan.problem @p {
  plan.task "a" modes duration 3
}
plan.solution of @p feasible makespan 3 {
  // expected-note @+1 {{the first start is here}}
  plan.start "a" at 0
  // expected-error @+1 {{'a' starts twice}}
  plan.start "a" at 0
}

// -----

// expected-error @+1 {{'p' is no problem here}}
plan.solution of @p unknown {
}
