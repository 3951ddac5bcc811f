plan.problem @p "p" {
  plan.resource "core" capacity 1
  plan.task "a" modes "one" duration 3 uses "core" 1 or "none" duration 0 uses "core" 2
}
plan.solution of @p feasible makespan 0 {
  plan.start "a" at 0 mode 1
  plan.lower_bound 0 kind "trivial" by ""
}
