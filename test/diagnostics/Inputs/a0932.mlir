plan.problem @p "p" {
  plan.resource "core" capacity 1
  plan.task "a" modes duration 3 uses "core" 1
  plan.task "b" modes "never" absent or "redo" duration 2
}
plan.solution of @p feasible makespan 3 {
  plan.start "a" at 0
  plan.start "b" at 1
  plan.lower_bound 0 kind "trivial" by ""
}
