plan.problem @p "p" {
  plan.budget "energy" capacity 5
  plan.task "a" modes duration 3 consumes "energy" 4
  plan.task "b" modes duration 3 consumes "energy" 4
}
plan.solution of @p feasible makespan 3 {
  plan.start "a" at 0
  plan.start "b" at 0
  plan.lower_bound 0 kind "trivial" by ""
}
