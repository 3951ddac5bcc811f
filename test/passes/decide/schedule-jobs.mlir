// RUN: accord-opt %s --schedule-jobs --place-jobs | FileCheck %s
// RUN: accord-opt %s --schedule-jobs --schedule-jobs --place-jobs | FileCheck %s
// Each problem gets a schedule that its verifier accepts; an earlier one is replaced.

// CHECK-LABEL: jobs.problem @night
jobs.problem @night slots 8 of 900 s minimize ["makespan"] {
  jobs.resource "h100" capacity 8
  jobs.servers 1 of "h100" devices 8
  jobs.job "a" moldable arrival 0 work 900 {
    jobs.configuration "8 h100" speed 1 uses "h100" 8
  }
  jobs.job "b" moldable arrival 0 work 900 after ["a"] {
    jobs.configuration "4 h100" speed 1 uses "h100" 4
  }
}
// CHECK: jobs.schedule of @night optimal {
// CHECK-NEXT: jobs.value "makespan" is 1800 bound 1800
// CHECK-NEXT: jobs.run "a" in "8 h100" from 0 to 1 on 0:8
// CHECK-NEXT: jobs.complete "a" at 900
// CHECK-NEXT: jobs.run "b" in "4 h100" from 1 to 2 on 0:4
// CHECK-NEXT: jobs.complete "b" at 1800
// CHECK-NOT: jobs.schedule
// CHECK: jobs.problem @never
jobs.problem @never slots 2 of 900 s minimize ["makespan"] {
  jobs.resource "h100" capacity 4
  jobs.job "a" moldable arrival 0 work 900 {
    jobs.configuration "8 h100" speed 1 uses "h100" 8
  }
}
// CHECK: jobs.schedule of @never infeasible {
// CHECK-NEXT: }
