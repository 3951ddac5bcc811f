plan.problem @p "p" {
  plan.task "a" modes duration 3 or duration 2
  plan.task "b" modes duration 3 or duration 2
  plan.pairing "a" with "b" allows 0-0, 1-1
}
plan.solution of @p feasible makespan 3 {
  plan.start "a" at 0
  plan.start "b" at 0 mode 1
  plan.lower_bound 0 kind "trivial" by ""
}
