plan.problem @p "p" {
  plan.task "a" modes duration 3
  plan.task "b" modes duration 3
  plan.precedence "a" before "b"
  plan.precedence "b" before "a"
}
plan.solution of @p infeasible conflict ["nothing fits"] {
}
