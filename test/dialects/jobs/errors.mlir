// RUN: accord-opt %s --split-input-file --verify-diagnostics
// Wrong problems and schedules of jobs are found out from their text.

// expected-error @+1 {{minimizes 'joy', which is no measure of a schedule}}
jobs.problem @p slots 4 of 60 s minimize ["joy"] {
}

// -----

// expected-error @+1 {{has at most 4096 slots, found 4097}}
jobs.problem @p slots 4097 of 60 s minimize [] {
}

// -----

jobs.problem @p slots 4 of 60 s minimize [] {
  // expected-error @+1 {{'h100' has slots that do not ascend from 0}}
  jobs.resource "h100" capacity 4, 2 from 3, 4 from 3
}

// -----

jobs.problem @p slots 4 of 60 s minimize [] {
  jobs.job "a" moldable arrival 0 work 1 {
    // expected-error @+1 {{'a' uses 'h100', which is no resource of this problem}}
    jobs.configuration "one" speed 1 uses "h100" 1
  }
}

// -----

jobs.problem @p slots 4 of 60 s minimize [] {
  // expected-error @+1 {{'a' is 'moldable' or 'malleable', found 'sometimes'}}
  jobs.job "a" sometimes arrival 0 work 1 {
    jobs.configuration "one" speed 1
  }
}

// -----

jobs.problem @p slots 4 of 60 s minimize [] {
  // expected-error @+1 {{'a' comes after itself, or after jobs of which one does}}
  jobs.job "a" moldable arrival 0 work 1 after ["b"] {
    jobs.configuration "one" speed 1
  }
  jobs.job "b" moldable arrival 0 work 1 after ["a"] {
    jobs.configuration "one" speed 1
  }
}

// -----

jobs.problem @p slots 4 of 60 s minimize [] {
  // expected-error @+1 {{'a' is of 'vision', which is no group of this problem}}
  jobs.job "a" moldable arrival 0 work 1 of ["vision"] {
    jobs.configuration "one" speed 1
  }
}

// -----

jobs.problem @p slots 4 of 60 s minimize [] {
  // expected-note @+1 {{the first one is here}}
  jobs.job "a" moldable arrival 0 work 1 {
    jobs.configuration "one" speed 1
  }
  // expected-error @+1 {{there are two of the job 'a'}}
  jobs.job "a" moldable arrival 0 work 1 {
    jobs.configuration "one" speed 1
  }
}

// -----

// expected-error @+1 {{'p' is no problem here}}
jobs.schedule of @p feasible {
}

// -----

jobs.problem @p slots 4 of 60 s minimize [] {
  // expected-note @+1 {{the resource is here}}
  jobs.resource "h100" capacity 8, 4 from 2
  jobs.job "a" malleable arrival 0 work 1 {
    jobs.configuration "8" speed 1 uses "h100" 8
  }
}
// expected-error @+1 {{uses 8 of 'h100' in slot 2, of 4}}
jobs.schedule of @p feasible {
  jobs.run "a" in "8" from 0 to 3
  jobs.complete "a" at 150
}

// -----

jobs.problem @p slots 4 of 60 s minimize ["makespan"] {
  jobs.job "a" malleable arrival 90 work 1 deadline 170 {
    jobs.configuration "8" speed 1
  }
}
jobs.schedule of @p feasible {
  // expected-error @+1 {{'a' begins at 60 s, and arrives at 90 s}}
  jobs.run "a" in "8" from 1 to 3
  jobs.complete "a" at 150
}

// -----

jobs.problem @p slots 4 of 60 s minimize ["makespan"] {
  jobs.job "a" malleable arrival 90 work 1 deadline 170 {
    jobs.configuration "8" speed 1
  }
}
// expected-error @+1 {{'a' completes at 171 s, after its deadline at 170 s}}
jobs.schedule of @p feasible {
  jobs.run "a" in "8" from 2 to 3
  jobs.complete "a" at 171
}

// -----

jobs.problem @p slots 4 of 60 s minimize ["makespan"] {
  jobs.job "a" malleable arrival 90 work 1 deadline 170 {
    jobs.configuration "8" speed 1
  }
}
jobs.schedule of @p feasible {
  // expected-error @+1 {{'makespan' is 150, below its bound of 151}}
  jobs.value "makespan" is 150 bound 151
  jobs.run "a" in "8" from 2 to 3
  jobs.complete "a" at 150
}

// -----

jobs.problem @p slots 4 of 60 s minimize ["makespan"] {
  jobs.job "a" malleable arrival 90 work 1 deadline 170 {
    jobs.configuration "8" speed 1
  }
}
// expected-error @+1 {{'a' is rejected, and may not be}}
jobs.schedule of @p feasible {
  jobs.reject "a"
}

// -----

jobs.problem @p slots 4 of 60 s minimize ["makespan"] {
  jobs.job "a" malleable arrival 90 work 1 deadline 170 {
    jobs.configuration "8" speed 1
  }
}
jobs.schedule of @p feasible {
  // expected-error @+1 {{of 'a' ends in slot 2, and begins in slot 2}}
  jobs.run "a" in "8" from 2 to 2
}

// -----

jobs.problem @p slots 4 of 60 s minimize [] {
  jobs.resource "h100" capacity 16
  jobs.servers 2 of "h100" devices 8
  jobs.job "a" moldable arrival 0 work 1 {
    jobs.configuration "8" speed 1 uses "h100" 8
  }
  jobs.job "b" moldable arrival 0 work 1 {
    jobs.configuration "4" speed 1 uses "h100" 4
  }
}
// expected-error @+1 {{uses 12 devices of server 1 in slot 0, of 8}}
jobs.schedule of @p feasible {
  jobs.run "a" in "8" from 0 to 1 on 1:8
  jobs.complete "a" at 1
  jobs.run "b" in "4" from 0 to 1 on 1:4
  jobs.complete "b" at 1
}

// -----

jobs.problem @p slots 4 of 60 s minimize [] {
  jobs.resource "h100" capacity 16
  jobs.servers 2 of "h100" devices 8
  jobs.job "a" moldable arrival 0 work 1 {
    jobs.configuration "8" speed 1 uses "h100" 8
  }
  jobs.job "b" moldable arrival 0 work 1 {
    jobs.configuration "4" speed 1 uses "h100" 4
  }
}
jobs.schedule of @p feasible {
  jobs.run "a" in "8" from 0 to 1 on 1:8
  jobs.complete "a" at 1
  // expected-error @+1 {{'b' has 3 devices of h100 on servers, and uses 4}}
  jobs.run "b" in "4" from 0 to 1 on 0:3
  jobs.complete "b" at 1
}

// -----

jobs.problem @p slots 4 of 60 s minimize ["goodput", "restarts"] {
  jobs.job "a" malleable arrival 0 work 1000 {
    jobs.configuration "8" speed 1
  }
}
// expected-error @+1 {{'a' continues after the last slot, and may not}}
jobs.schedule of @p feasible {
  jobs.run "a" in "8" from 0 to 4
  jobs.continue "a"
}

// -----

jobs.problem @p slots 4 of 60 s minimize [] {
  jobs.job "a" moldable arrival 0 work 1000 may_continue {
    jobs.configuration "8" speed 1
  }
}
jobs.schedule of @p feasible {
  // expected-error @+1 {{'a' is moldable, and stops in slot 3}}
  jobs.run "a" in "8" from 0 to 3
  jobs.continue "a"
}

// -----

jobs.problem @p slots 4 of 60 s minimize [] {
  jobs.job "a" malleable arrival 0 work 1000 deadline 240 may_continue {
    jobs.configuration "8" speed 1
  }
}
// expected-error @+1 {{'a' continues after its deadline at 240 s}}
jobs.schedule of @p feasible {
  jobs.continue "a"
}

// -----

jobs.problem @p slots 4 of 60 s minimize [] {
  jobs.job "a" malleable arrival 0 work 1000 may_continue {
    jobs.configuration "8" speed 1
  }
  jobs.job "b" malleable arrival 0 work 1 after ["a"] {
    jobs.configuration "8" speed 1
  }
}
jobs.schedule of @p feasible {
  jobs.continue "a"
  // expected-error @+1 {{'b' begins at 180 s, before 'a' is complete}}
  jobs.run "b" in "8" from 3 to 4
  jobs.complete "b" at 181
}

// -----

jobs.problem @p slots 4 of 60 s minimize [] {
  jobs.job "a" malleable arrival 0 work 90 {
    jobs.configuration "large" speed 1
    jobs.configuration "small" speed 1 family 1
  }
}
jobs.schedule of @p feasible {
  jobs.run "a" in "large" from 0 to 1
  // expected-error @+1 {{'a' runs in a configuration of another family than at first}}
  jobs.run "a" in "small" from 1 to 2
  jobs.complete "a" at 90
}

// -----

jobs.problem @p slots 4 of 60 s minimize [] {
  jobs.job "a" malleable arrival 0 work 90 {
    // expected-error @+1 {{'large' is of a family from 0 to 10000, found 10001}}
    jobs.configuration "large" speed 1 family 10001
  }
}

// -----

jobs.problem @p slots 4 of 60 s minimize [] {
  jobs.job "a" malleable arrival 0 work 60 running "8" max_restarts 0 {
    jobs.configuration "8" speed 1
  }
}
jobs.schedule of @p feasible {
  // expected-error @+1 {{'a' has 1 restarts, and may have 0}}
  jobs.run "a" in "8" from 1 to 2
  jobs.complete "a" at 120
}
