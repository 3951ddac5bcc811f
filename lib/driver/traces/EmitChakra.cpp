#include "lib/driver/traces/EmitChakra.h"
#include "lib/chakra/file/ChakraFile.h"
#include "lib/chakra/output/ClusterTraces.h"
#include "lib/chakra/output/PlanTrace.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/PlacementFile.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {
using namespace chakra;

/// Of all ranks together: some gigabytes.
constexpr int64_t kNodes = int64_t(1) << 24;

class Emitter {
public:
  explicit Emitter(const EmitChakraOptions &options) : options(options), diags(sources) {}

  int run() {
    if (options.output.empty())
      return fail(Code::BadCommandLine, "execution traces are files, one for each rank: -o names their folder");
    if (options.json)
      return fail(Code::BadCommandLine, "execution traces are files: leave out --json");
    return holdsPlacement(options.plan) ? cluster() : oneDevice();
  }

private:
  int fail(Code code, const std::string &message) { return refuse(code, message, options.json, "emit"); }

  int oneDevice() {
    auto plan = readPlan(options.plan, options.json, "emit");
    if (!plan)
      return kWrongInput;
    if (options.rank.value_or(0) != 0)
      return fail(Code::BadCommandLine, fmt::format("the plan has the rank 0 alone, not {}", *options.rank));
    auto trace = traceOf(*plan);
    if (!trace)
      return fail(trace.error().code, options.plan + ": " + trace.error().message);
    return write(*trace) ? done(1, trace->nodes.size()) : finish(diags, kWrongInput, options.json, "emit");
  }

  int cluster() {
    auto plan = readPlacement(options.plan, options.json, "emit");
    if (!plan)
      return kWrongInput;
    if (!plan->result.plan)
      return fail(Code::NotAPlacement, fmt::format("'{}' has no plan that fits", options.plan));
    ClusterTraces traces(*plan);
    if (options.rank && *options.rank >= traces.ranks())
      return fail(Code::BadCommandLine,
                  fmt::format("the plan has ranks 0 to {}, not {}", traces.ranks() - 1, *options.rank));
    if (!options.rank && traces.nodes() > kNodes)
      return fail(Code::ImportUnsupported,
                  fmt::format("{} ranks have {} nodes together, at most {} are written: --rank writes those of one",
                              traces.ranks(), traces.nodes(), kNodes));
    size_t nodes = 0;
    int64_t ranks = 0;
    for (int64_t rank = options.rank.value_or(0); rank < traces.ranks() && (!options.rank || rank == *options.rank);
         ++rank, ++ranks) {
      ExecutionTrace trace = traces.trace(rank);
      nodes += trace.nodes.size();
      if (!write(trace))
        return finish(diags, kWrongInput, options.json, "emit");
    }
    if (!writeFiles(diags, options.output, {{"comm_groups.json", traces.groupsJson()}}))
      return finish(diags, kWrongInput, options.json, "emit");
    return done(ranks, nodes);
  }

  bool write(const ExecutionTrace &trace) {
    return writeFiles(diags, options.output, {{fmt::format("trace.{}.et", trace.rank), toBytes(trace)}});
  }

  int done(int64_t ranks, size_t nodes) {
    standardOutput() << fmt::format("{} execution trace{} with {} nodes in {}\n", ranks, ranks == 1 ? "" : "s", nodes,
                                    options.output);
    return kDone;
  }

  const EmitChakraOptions &options;
  SourceManager sources;
  Diagnostics diags;
};

} // namespace

int emitChakra(const EmitChakraOptions &options) { return Emitter(options).run(); }

} // namespace accord
