// RUN: accord-opt %s --place-jobs --verify-diagnostics | FileCheck %s
// Runs keep their servers; what is scattered has none, with a warning.

jobs.problem @night slots 8 of 900 s minimize ["makespan"] {
  jobs.resource "h100" capacity 16
  jobs.servers 2 of "h100" devices 8
  jobs.job "a" moldable arrival 0 work 10 {
    jobs.configuration "8 h100" speed 1 uses "h100" 8
  }
  jobs.job "b" malleable arrival 0 work 10 {
    jobs.configuration "4 h100" speed 1 uses "h100" 4
    jobs.configuration "8 h100" speed 1 uses "h100" 8
  }
  jobs.job "nothing" moldable arrival 0 work 10 {
    jobs.configuration "none" speed 1
  }
}
// CHECK: jobs.schedule of @night feasible {
jobs.schedule of @night feasible {
  // CHECK-NEXT: jobs.run "a" in "8 h100" from 0 to 4 on [[A:[01]]]:8
  jobs.run "a" in "8 h100" from 0 to 4
  jobs.complete "a" at 3600
  // CHECK: jobs.run "b" in "4 h100" from 0 to 2 on [[B:[01]]]:4
  jobs.run "b" in "4 h100" from 0 to 2
  // CHECK-NEXT: jobs.run "b" in "8 h100" from 2 to 3 on [[B]]:8
  jobs.run "b" in "8 h100" from 2 to 3
  jobs.complete "b" at 2700
  // CHECK: jobs.run "nothing" in "none" from 0 to 1{{$}}
  jobs.run "nothing" in "none" from 0 to 1
  jobs.complete "nothing" at 900
}

jobs.problem @scattered slots 2 of 900 s minimize [] {
  jobs.resource "h100" capacity 4
  jobs.servers 2 of "h100" devices 2
  jobs.job "a" moldable arrival 0 work 10 {
    jobs.configuration "1 h100" speed 1 uses "h100" 1
    jobs.configuration "3 h100" speed 1 uses "h100" 3
  }
  jobs.job "b" moldable arrival 0 work 10 {
    jobs.configuration "3 h100" speed 1 uses "h100" 3
  }
}
// CHECK: jobs.schedule of @scattered feasible {
// CHECK: jobs.run "b" in "3 h100" from 0 to 1 on {{.*}}
jobs.schedule of @scattered feasible {
  jobs.run "a" in "1 h100" from 0 to 1
  jobs.complete "a" at 900
  jobs.run "b" in "3 h100" from 0 to 1
  jobs.complete "b" at 900
}

jobs.problem @wide slots 2 of 900 s minimize [] {
  jobs.resource "h100" capacity 6
  jobs.servers 2 of "h100" devices 3
  jobs.job "a" moldable arrival 0 work 10 {
    jobs.configuration "2 h100" speed 1 uses "h100" 2
  }
  jobs.job "b" moldable arrival 0 work 10 {
    jobs.configuration "2 h100" speed 1 uses "h100" 2
  }
  jobs.job "c" moldable arrival 0 work 10 {
    jobs.configuration "2 h100" speed 1 uses "h100" 2
  }
}
jobs.schedule of @wide feasible {
  jobs.run "a" in "2 h100" from 0 to 1
  jobs.complete "a" at 900
  jobs.run "b" in "2 h100" from 0 to 1
  jobs.complete "b" at 900
  // expected-warning @+1 {{'c' has no servers: 2 h100 are free by number, but not without a move of another job}}
  jobs.run "c" in "2 h100" from 0 to 1
  jobs.complete "c" at 900
}
