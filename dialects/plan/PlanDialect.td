// The plan dialect: what must run, and where and when it does.
#ifndef ACCORD_PLAN_DIALECT
#define ACCORD_PLAN_DIALECT

include "dialects/interfaces/Builder.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::accord::plan";
  let summary = "a placement problem and its solution, as text that can be read and checked";
  let description = [{
    A placement names its resources, gives every operation a slot, and says what bound holds for the whole. Times are whole
    picoseconds, sizes whole bytes. The verifier proves again what can be seen here: slots on one core do not overlap, an
    operation starts after those it waits for, staticTensors fit their memory, nothing is better than its bound.

    ```mlir
    plan.placement @mlp model "mlp" on "a100" minimize "step_time" value 2.0e-08 bound 1.5e-08 step 20000 ps {
      plan.memory "hbm" capacity 85899345920
      plan.core "tc" [1] : tensor
      plan.region @step [2] length 10000 ps {
        plan.slot "fc1" on "tc"[0] start 0 ps duration 6000 ps
        plan.slot "fc2" on "tc"[0] start 6000 ps duration 4000 ps after ["fc1"]
      }
      plan.residency "weights" in "hbm" bytes 4096
      plan.bound "core tc" step 15000 ps
    }
    ```
  }];
}

#endif
