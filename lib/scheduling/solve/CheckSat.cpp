#include "lib/scheduling/solve/CheckSat.h"
#include <fmt/format.h>
#include <z3++.h>

namespace accord {

SatResult checkSat(const std::string &script, unsigned work) {
  unsigned major = 0, minor = 0, build = 0, revision = 0;
  Z3_get_version(&major, &minor, &build, &revision);
  SatResult said{"unknown", fmt::format("Z3 {}.{}.{}", major, minor, build)};
  try {
    z3::context context;
    z3::solver solver(context);
    z3::params limits(context);
    limits.set("rlimit", work);
    solver.set(limits);
    solver.add(context.parse_string(script.c_str()));
    z3::check_result answer = solver.check();
    said.answer = answer == z3::unsat ? "unsat" : answer == z3::sat ? "sat" : "unknown";
  } catch (const z3::exception &problem) {
    said.answer = problem.msg();
  }
  return said;
}

} // namespace accord
