// The jobs dialect: which trainings share a cluster, and when each of them runs.
#ifndef ACCORD_JOBS_DIALECT
#define ACCORD_JOBS_DIALECT

include "dialects/interfaces/Builder.td"

def Jobs_Dialect : Dialect {
  let name = "jobs";
  let cppNamespace = "::accord::jobs";
  let summary = "jobs on a shared cluster and their schedule, as text that can be read and checked";
  let description = [{
    A problem cuts time into slots. In each slot a job runs in one of its configurations, which uses amounts of
    resources, or in none. The verifier checks that names lead somewhere, and of a schedule again that arrivals,
    deadlines, dependences and capacities in each slot are kept and that no server holds more than its devices.

    ```mlir
    jobs.problem @night slots 8 of 900 s minimize ["mean_completion", "cost"] {
      jobs.resource "h100" capacity 16, 8 from 4
      jobs.servers 2 of "h100" devices 8
      jobs.group "vision" share 2
      jobs.limit "cost" at_most 90000000
      jobs.job "vit" malleable arrival 0 work 100000 deadline 7200 of ["vision"] {
        jobs.configuration "8 h100" speed 100 watts 5600 price 7200 uses "h100" 8
      }
      jobs.job "probe" moldable arrival 600 work 900 after ["vit"] {
        jobs.configuration "4 h100" speed 10 uses "h100" 4
      }
    }
    jobs.schedule of @night feasible {
      jobs.value "mean_completion" is 2880 bound 2880
      jobs.value "cost" is 12960000
      jobs.run "vit" in "8 h100" from 0 to 2 on 0:8
      jobs.complete "vit" at 1000
      jobs.run "probe" in "4 h100" from 2 to 3 on 0:4
      jobs.complete "probe" at 1890
    }
    ```
  }];
}

#endif
