#include "lib/driver/Session.h"
#include "lib/driver/tasks/Latency.h"
#include "lib/latency/build/ClusterLatencyModel.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <variant>

namespace accord {
namespace {

/// The degrees of one axis that are worth a plan.
std::set<int64_t> candidates(int64_t devices, int64_t own, std::optional<int64_t> heads) {
  std::set<int64_t> all = {own};
  for (int64_t power = 1; power <= devices; power *= 2)
    all.insert(power);
  if (heads && *heads > 0 && *heads % 4 != 0)
    for (int64_t divisor = 1; divisor <= std::min(devices, *heads); ++divisor)
      if (*heads % divisor == 0)
        all.insert(divisor);
  return all;
}

class DegreePlans {
public:
  explicit DegreePlans(Session &session) : session(session), own(session.job().degrees) {}

  std::optional<ClusterJob> run() {
    Diagnostics &diags = session.diagnostics();
    const Cluster &cluster = *session.cluster();
    if (own.context > 1) {
      diags
          .error(Code::NotSupported, session.job().targetAt,
                 "not supported yet: a latency model with context_parallel above 1")
          .help("accord compile and accord estimate have it");
      return std::nullopt;
    }
    microbatch = session.smallestMicrobatch();
    if (!microbatch) {
      diags.error(Code::BatchNotDivisible, session.job().microbatchAt,
                  fmt::format("no micro-batch size in the search space divides the {} samples of a device",
                              session.batchOfDevice()));
      return std::nullopt;
    }
    job.fabric = &cluster.fabric, job.cluster = cluster.name, job.batch = session.job().batch;
    job.tensor = own.tensor, job.data = own.data;
    int64_t devices = cluster.fabric.devices();
    auto heads = session.program().parameter(session.job(), "heads");
    std::vector<int64_t> tensor = dividing("tensor_parallel", true, candidates(devices, own.tensor, heads), heads),
                         data = dividing("data_parallel", false, candidates(devices, own.data, std::nullopt),
                                         std::nullopt);
    for (int64_t t : tensor)
      for (int64_t d : data)
        if (t <= devices / d && !plan(t, d))
          return std::nullopt;
    tellMemory();
    for (const std::string &assumption : cluster.assumptions)
      if (!llvm::StringRef(assumption).starts_with("the step takes"))
        job.notes.push_back(assumption);
    if (own.sequence)
      job.notes.push_back("what lies between the layers is divided along the sequence at every tensor_parallel above "
                          "1, as the file says");
    if (own.expert)
      job.notes.push_back("experts are divided among all replicas, as the file says");
    return std::move(job);
  }

  Degrees at(int64_t tensor, int64_t data) const {
    Degrees degrees = own;
    degrees.tensor = tensor, degrees.data = data;
    return degrees;
  }

private:
  /// Drops the errors since `before`; the first one.
  std::string dropped(size_t before) {
    std::string reason = "it is not defined there";
    size_t errors = 0;
    for (const Diagnostic &d : session.diagnostics().sorted())
      if (d.severity == Severity::Error && ++errors == before + 1)
        reason = d.message;
    session.diagnostics().dropErrors(before);
    return reason;
  }

  /// What the step is at some degree of one axis, to tell whether more of it is divided at another.
  struct Structure {
    std::set<std::string> whole; ///< names of what stays whole
    std::vector<std::string> operations;
  };
  std::variant<Structure, std::string> structureAt(const Degrees &degrees) {
    size_t before = session.diagnostics().errors();
    auto remarks = session.graphs().unshardedAt(degrees);
    auto work = remarks ? session.graphs().workAt(microbatch, 1, std::nullopt, degrees) : std::nullopt;
    if (!work)
      return dropped(before);
    Structure found;
    for (const std::string &remark : *remarks)
      found.whole.insert(llvm::StringRef(remark).split("', ").first.str() + "'");
    for (const Operation &op : work->operations)
      found.operations.push_back(op.name);
    return found;
  }

  /// Degrees at which as much is divided as at the smallest one above 1; after the first power of
  /// two that is left out no other is tried.
  std::vector<int64_t> dividing(const char *argument, bool tensor, const std::set<int64_t> &all,
                                std::optional<int64_t> heads) {
    std::vector<int64_t> kept;
    std::optional<Structure> usual;
    int64_t fixed = tensor ? own.tensor : own.data, stopped = 0;
    for (int64_t degree : all) {
      auto power = [](int64_t x) { return (x & (x - 1)) == 0; };
      if (stopped && power(degree) && degree != fixed)
        continue;
      std::string reason;
      if (heads && *heads > 0 && *heads % degree != 0) {
        reason = fmt::format("it does not divide the {} heads", *heads);
      } else if (auto found = structureAt(tensor ? at(degree, 1) : at(1, degree));
                 auto *error = std::get_if<std::string>(&found)) {
        reason = *error;
      } else if (degree > 1) {
        auto &here = std::get<Structure>(found);
        if (!usual)
          usual = here;
        for (const std::string &name : here.whole)
          if (reason.empty() && !usual->whole.count(name))
            reason = name + " stays whole there";
        if (reason.empty() && here.operations != usual->operations)
          reason = fmt::format("not all of the step is divided as at {}", kept.size() > 1 ? kept[1] : 2);
      }
      if (reason.empty() || degree == fixed) {
        kept.push_back(degree);
        continue;
      }
      if (power(degree) && degree > 1)
        stopped = degree;
      job.notes.push_back(
          fmt::format("{} {}{} is left out: {}", argument, degree, power(degree) ? " and more" : "", reason));
    }
    return kept;
  }

  /// False after an error at the job's own degrees; another pair is left out.
  bool plan(int64_t tensor, int64_t data) {
    int64_t samples = (job.batch + data - 1) / data;
    size_t before = session.diagnostics().errors();
    Degrees degrees = at(tensor, data);
    auto work = session.graphs().workAt(microbatch, (samples + microbatch - 1) / microbatch, std::nullopt, degrees);
    auto plan = work ? session.planFor(std::move(*work), degrees) : std::nullopt;
    if (plan) {
      job.plans.push_back({tensor, data, std::move(*plan)});
      return true;
    }
    if (tensor == own.tensor && data == own.data)
      return false;
    job.notes.push_back(
        fmt::format("tensor_parallel {} with data_parallel {} is left out: {}", tensor, data, dropped(before)));
    return true;
  }

  void tellMemory() {
    double capacity = session.machine().memories.front().capacity.value;
    std::map<int64_t, std::vector<int64_t>> full, all; // data degrees by tensor degree
    for (const DegreePlan &one : job.plans) {
      all[one.tensor].push_back(one.data);
      if (one.plan.memory.peak > capacity)
        full[one.tensor].push_back(one.data);
    }
    std::vector<std::string> words;
    for (const auto &[tensor, data] : full)
      words.push_back(data == all[tensor] ? std::to_string(tensor)
                                          : fmt::format("{} with data_parallel {}", tensor, fmt::join(data, " or ")));
    if (!words.empty())
      job.notes.push_back(fmt::format("micro-batches of {} need more memory than a device has at tensor_parallel {}",
                                      microbatch, fmt::join(words, ", ")));
  }

  Session &session;
  Degrees own;
  ClusterJob job;
  int64_t microbatch = 0;
};

} // namespace

std::optional<LatencyModel> clusterLatencyModel(Session &session) {
  DegreePlans plans(session);
  auto job = plans.run();
  if (!job)
    return std::nullopt;
  auto sampleAt = [&](int64_t tensor, int64_t data, int64_t microbatch, int64_t microbatches,
                      std::optional<int64_t> sequence) {
    EstimateOptions options;
    options.fabric = job->fabric, options.axes = {{"tensor", tensor}, {"data", data}};
    return sampledAt(session, std::move(options), microbatch, microbatches, sequence, plans.at(tensor, data));
  };
  auto graphAt = [&](int64_t tensor, int64_t data, int64_t microbatch, int64_t microbatches) {
    return session.graphs().workAt(microbatch, microbatches, std::nullopt, plans.at(tensor, data));
  };
  auto made = clusterLatencyModelOf(*job, session.sequence(), sampleAt, graphAt);
  return reportedModel(session, std::move(made), /*needed=*/true);
}

} // namespace accord
