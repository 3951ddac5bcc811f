// RUN: accord-opt %s | FileCheck %s
// RUN: accord-opt %s | accord-opt | FileCheck %s
// RUN: accord-opt %s --mlir-print-op-generic | accord-opt | FileCheck %s
// RUN: accord-opt %s --emit-bytecode | accord-opt | FileCheck %s

// CHECK-LABEL: jobs.problem @night slots 8 of 900 s minimize ["mean_completion", "cost"] tail 1 carbon 120, 80 from 4 {
jobs.problem @night slots 8 of 900 s minimize ["mean_completion", "cost"] tail 1 carbon 120, 80 from 4 {
  // CHECK-NEXT: jobs.resource "h100" capacity 16, 8 from 4
  jobs.resource "h100" capacity 16, 8 from 4
  // CHECK-NEXT: jobs.resource "power" capacity 9000
  jobs.resource "power" capacity 9000
  // CHECK-NEXT: jobs.servers 2 of "h100" devices 8
  jobs.servers 2 of "h100" devices 8
  // CHECK-NEXT: jobs.group "vision" share 2
  jobs.group "vision" share 2
  // CHECK-NEXT: jobs.limit "cost" at_most 90000000
  jobs.limit "cost" at_most 90000000
  // CHECK-NEXT: jobs.job "vit" malleable arrival 0 waited 300 work 100000 deadline 7200 due 3600 late_price 5 weight 3 restart 60 isolated 900 running "8 h100" of ["vision"] {
  jobs.job "vit" malleable arrival 0 waited 300 work 100000 deadline 7200 due 3600 late_price 5 weight 3 restart 60 isolated 900 running "8 h100" of ["vision"] {
    // CHECK-NEXT: jobs.configuration "8 h100" speed 100 watts 5600 price 7200 uses "h100" 8, "power" 5600
    jobs.configuration "8 h100" speed 100 watts 5600 price 7200 uses "h100" 8, "power" 5600
    // CHECK-NEXT: jobs.configuration "8 h100 as small" speed 120 family 1 uses "h100" 8
    jobs.configuration "8 h100 as small" speed 120 family 1 uses "h100" 8
  }
  // CHECK: jobs.job "probe" moldable arrival 600 work 900 after ["vit"] {
  jobs.job "probe" moldable arrival 600 work 900 after ["vit"] {
    jobs.configuration "4 h100" speed 10 uses "h100" 4
    jobs.configuration "anywhere" speed 1
  }
  // CHECK: jobs.job "extra" moldable arrival 0 work 5 may_be_rejected {
  jobs.job "extra" moldable arrival 0 work 5 may_be_rejected {
    jobs.configuration "16 h100" speed 10 uses "h100" 16
  }
  // CHECK: jobs.job "weeks" moldable arrival 0 work 10000000 may_continue max_restarts 2 {
  jobs.job "weeks" moldable arrival 0 work 10000000 may_continue max_restarts 2 {
    jobs.configuration "1 h100" speed 10 uses "h100" 1
  }
}
// CHECK: jobs.schedule of @night feasible {
jobs.schedule of @night feasible {
  // CHECK-NEXT: jobs.value "mean_completion" is 4290 bound 4200
  jobs.value "mean_completion" is 4290 bound 4200
  // CHECK-NEXT: jobs.value "cost" is 12960000
  jobs.value "cost" is 12960000
  // CHECK-NEXT: jobs.run "vit" in "8 h100" from 0 to 2 on 0:8
  jobs.run "vit" in "8 h100" from 0 to 2 on 0:8
  // CHECK-NEXT: jobs.complete "vit" at 1000
  jobs.complete "vit" at 1000
  jobs.run "probe" in "4 h100" from 2 to 3 on 0:2, 1:2
  jobs.complete "probe" at 1890
  // CHECK: jobs.reject "extra"
  jobs.reject "extra"
  jobs.run "weeks" in "1 h100" from 4 to 8 on 1:1
  // CHECK: jobs.continue "weeks"
  jobs.continue "weeks"
}
// CHECK: jobs.problem @nothing slots 1 of 60 s minimize [] {
jobs.problem @nothing slots 1 of 60 s minimize [] {
}
jobs.schedule of @nothing optimal {
}
