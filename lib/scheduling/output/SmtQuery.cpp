#include "lib/scheduling/output/SmtQuery.h"
#include "lib/scheduling/output/QueryFacts.h"
#include "lib/scheduling/output/SmtQueryBuilder.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace accord {
namespace smtquery {

std::vector<std::string> symbolsOf(const SchedulingProblem &problem) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  bool alike = false;
  for (Id t = 0; t < problem.tasks.size(); ++t) {
    const std::string &name = problem.tasks[t].name;
    names.push_back(name);
    for (char &c : names.back())
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-')
        c = '_';
    alike |= name.empty() || !seen.insert(names.back()).second;
  }
  if (alike)
    for (Id t = 0; t < names.size(); ++t)
      names[t] = fmt::format("{}{}{}", t, names[t].empty() ? "" : "_", names[t]);
  return names;
}

} // namespace smtquery

namespace {

/// Bits of all tasks together, and of one: beyond, files grow past some megabytes.
constexpr int64_t kMaxQueryBits = 1 << 18, kMaxTimes = 1 << 14;
/// Up to here, solvers decide integers.
constexpr size_t kMaxIntegerTasks = 12;

int64_t commonUnit(const SchedulingProblem &problem) {
  int64_t unit = 0;
  for (const auto &task : problem.tasks)
    for (const auto &mode : task.modes)
      unit = std::gcd(unit, mode.duration);
  for (const auto &p : problem.precedences)
    unit = std::gcd(unit, p.delay);
  for (const auto &lag : problem.lags)
    unit = std::gcd(unit, lag.lag);
  return std::max<int64_t>(unit, 1);
}

/// Names may hold anything; a comment ends with its line.
std::string oneLine(std::string text) {
  for (char &c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 127)
      c = ' ';
  return text;
}

std::string head(const SchedulingProblem &p, int64_t makespan, int64_t unit, bool exact, bool bits, bool windows) {
  std::string text =
      fmt::format("; Query: does the problem '{}' have a schedule of makespan at most {}?\n"
                  "; {} tasks, {} precedences, {} resources, {} budgets, {} memories, {} buffers, {} "
                  "pairings{}.\n"
                  "; To refute it:  {}  or  z3 FILE\n"
                  "; both print 'unsat' if every schedule takes {} or more.\n",
                  oneLine(p.name), makespan, p.tasks.size(), p.precedences.size(), p.resources.size(), p.budgets.size(),
                  p.memories.size(), p.buffers.size(), p.pairings.size(),
                  p.lags.empty() ? "" : fmt::format(", {} time lags", p.lags.size()),
                  bits ? "cvc5 --bitblast=eager FILE" : "cvc5 FILE",
                  __int128(makespan) + 1 > INT64_MAX ? std::string("more") : std::to_string(makespan + 1));
  if (bits)
    text += "; Bit t of started_X, ended_X, runs_X: task X has started or ended by, runs at, time t.\n"
            "; live_B: when buffer B takes its bytes. sum_R_g_k: groups of tasks from g on take k of "
            "R.\n";
  else
    text += "; start_X, end_X: of task X, both 0 where it does not happen.\n";
  if (unit > 1)
    text += fmt::format("; One unit of time here is {} of the problem's{}.\n", unit,
                        exact ? ", which divides all durations and delays" : "; durations and delays are rounded down");
  if (windows)
    text += "; Starts are within windows that follow from the problem step by step; `accord verify` "
            "takes these steps again.\n";
  return text;
}

} // namespace

std::string smtQuery(const SchedulingProblem &problem, int64_t makespan, SmtEncoding encoding, int64_t given,
                     const StartWindows *windows) {
  int64_t common = commonUnit(problem), unit = given > 1 ? given : common;
  size_t n = std::max<size_t>(problem.tasks.size(), 1);
  int64_t times = std::min<int64_t>(kMaxTimes, kMaxQueryBits / static_cast<int64_t>(n) + 64);
  bool few = makespan / unit < times;
  if (encoding == SmtEncoding::Automatic)
    encoding = few                                ? SmtEncoding::BitVector
               : n <= kMaxIntegerTasks || windows ? SmtEncoding::LinearInteger
                                                  : SmtEncoding::RoundedBitVector;
  bool bits = encoding != SmtEncoding::LinearInteger;
  if (!bits)
    unit = given;
  if (encoding == SmtEncoding::RoundedBitVector)
    while (makespan / unit >= times)
      unit *= 2; // at most 2^63 / 64
  smtquery::QueryFacts facts(problem, makespan < 0 ? -1 : makespan, unit, windows);
  std::string text;
  if (facts.infeasible) {
    smtquery::SmtQueryBuilder closed(bits ? "QF_BV" : "QF_LIA");
    closed.require(closed.truth(false));
    text = "; By arithmetic alone: no mode of a task fits, or a chain of tasks takes longer.\n" + closed.print();
  } else {
    text = bits ? smtquery::encodeInBitVectors(facts) : smtquery::encodeInIntegers(facts);
  }
  return head(problem, makespan, unit, common % unit == 0, bits, windows) + text;
}

std::vector<std::string> solverCommand(const std::string &program, const std::string &smtQuery) {
  std::string name = program.substr(program.rfind('/') + 1); // npos + 1 is 0
  // Bits become clauses at once; it refuses this of integers.
  if (name.starts_with("cvc5") && smtQuery.find("(set-logic QF_BV)") != std::string::npos)
    return {program, "--bitblast=eager"};
  return {program};
}

} // namespace accord
