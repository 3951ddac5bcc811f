#include "tools/accord/VerifyMining.h"
#include "lib/cost/Energy.h"
#include "lib/cost/Estimate.h"
#include "lib/cost/PriceCache.h"
#include "lib/emit/JsonText.h"
#include "lib/emit/MiningCertificate.h"
#include "lib/emit/MiningSpace.h"
#include "lib/emit/PlanJson.h"
#include "tools/accord/PlanFile.h"
#include "tools/accord/Session.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

std::string folderOf(const std::string &path) {
  if (llvm::sys::fs::is_directory(path))
    return path;
  std::string parent = llvm::sys::path::parent_path(path).str();
  return parent.empty() ? "." : parent;
}

bool close(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

/// The first number of two machines that is not the same, with both; empty: none.
std::string differs(const Machine &a, const Machine &b) {
  std::string what;
  auto number = [&](const std::string &of, double x, double y) {
    if (what.empty() && !close(x, y))
      what = fmt::format("{} is {:.9g}, and {:.9g} by the space", of, x, y);
  };
  auto word = [&](const std::string &of, const std::string &x, const std::string &y) {
    if (what.empty() && x != y)
      what = fmt::format("{} is '{}', and '{}' by the space", of, x, y);
  };
  number("clock", a.clock.value, b.clock.value);
  number("idle power", a.idle.value, b.idle.value);
  number("design power", a.tdp.value, b.tdp.value);
  number("area", a.area.value, b.area.value);
  number("kernel floor", a.host.kernel.value, b.host.kernel.value);
  number("cost of a micro-batch", a.host.microbatch.value, b.host.microbatch.value);
  number("cost of a step", a.host.step.value, b.host.step.value);
  word("cost model", a.costModel, b.costModel);
  for (const char *type : {"fp4", "fp8", "bf16", "fp16", "tf32", "fp32", "fp64", "int4", "int8",
                           "int16", "int32", "int64"})
    number(fmt::format("energy of {}", type), energyPerFlop(a, type).value,
           energyPerFlop(b, type).value);
  number("number of memories", static_cast<double>(a.memories.size()),
         static_cast<double>(b.memories.size()));
  number("number of cores", static_cast<double>(a.cores.size()),
         static_cast<double>(b.cores.size()));
  for (size_t i = 0; what.empty() && i < a.memories.size(); ++i) {
    const Memory &x = a.memories[i], &y = b.memories[i];
    word("name of a memory", x.name, y.name);
    word("kind of " + x.name, x.kind, y.kind);
    number("capacity of " + x.name, x.capacity.value, y.capacity.value);
    number("bandwidth of " + x.name, x.bandwidth.value, y.bandwidth.value);
    number("latency of " + x.name, x.latency.value, y.latency.value);
    number("energy of " + x.name, x.energy.value, y.energy.value);
    number("efficiency of " + x.name, x.efficiency, y.efficiency);
    number("sector of " + x.name, x.sector.value, y.sector.value);
    number("double buffering of " + x.name, x.doubleBuffered, y.doubleBuffered);
  }
  for (size_t i = 0; what.empty() && i < a.cores.size(); ++i) {
    const Core &x = a.cores[i], &y = b.cores[i];
    word("name of a core", x.name, y.name);
    word("kind of " + x.name, name(x.kind), name(y.kind));
    word("dataflow of " + x.name, x.dataflow, y.dataflow);
    auto whole = [&](const char *of, int64_t m, int64_t n) {
      number(fmt::format("{} of {}", of, x.name), static_cast<double>(m), static_cast<double>(n));
    };
    whole("count", x.count, y.count);
    whole("rows", x.rows, y.rows);
    whole("columns", x.cols, y.cols);
    whole("lanes", x.lanes, y.lanes);
    whole("memory", x.reads, y.reads);
    whole("overlaps", x.overlapFill + 2 * x.overlapDrain, y.overlapFill + 2 * y.overlapDrain);
    whole("spread", x.oneEach + 2 * x.either, y.oneEach + 2 * y.either);
    number("efficiency of " + x.name, x.efficiency, y.efficiency);
    number("half work of " + x.name, x.halfWork.value, y.halfWork.value);
    whole("number of peaks", static_cast<int64_t>(x.peak.size()),
          static_cast<int64_t>(y.peak.size()));
    for (const auto &[type, peak] : y.peak)
      number(fmt::format("{} peak of {}", type, x.name),
             x.peak.count(type) ? x.peak.at(type).value : 0, peak.value);
    if (what.empty() && x.cyclesOf != y.cyclesOf)
      what = fmt::format("the cycles of {} are others by the space", x.name);
  }
  return what;
}

class MiningProver {
public:
  MiningProver(const std::string &path, bool json) : folder_(folderOf(path)), json_(json) {}

  std::optional<Verification> prove() {
    if (!read())
      return std::nullopt;
    MiningVerifier verifier(claim_, *space_, pricesOf(claim_));
    checkOwn();
    for (const ClaimedAnswer &answer : claim_.answers)
      checkWinner(verifier, answer);
    // Of another winner nothing more is to be said.
    if (out_.holds())
      for (const ClaimedAnswer &answer : claim_.answers)
        checkBound(verifier, answer);
    return std::move(out_);
  }

private:
  template <typename... T> void find(fmt::format_string<T...> text, T &&...args) {
    out_.findings.push_back({"A0906", fmt::format(text, std::forward<T>(args)...), {}, {}});
  }

  std::optional<std::string> textOf(const std::string &file) {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (buffer)
      return (*buffer)->getBuffer().str();
    refuse(Code::CannotRead,
           fmt::format("'{}', without which nothing of a mining is proved, cannot be read: {}",
                       file, buffer.getError().message()),
           json_, "verify");
    return std::nullopt;
  }

  bool read() {
    auto fail = [&](Code code, const std::string &message) {
      refuse(code, message, json_, "verify");
      return false;
    };
    std::string file = folder_ + "/" + kMiningCertificate, spaceFile = folder_ + "/" + kMiningSpace,
                mined = folder_ + "/mine.json";
    auto text = textOf(file), spaceText = text ? textOf(spaceFile) : std::nullopt,
         minedText = spaceText ? textOf(mined) : std::nullopt;
    if (!minedText)
      return false;
    auto claim = miningClaimFrom(*text, file);
    if (!claim)
      return fail(Code::BadPlan, llvm::toString(claim.takeError()));
    claim_ = std::move(*claim);
    auto space = MiningSpace::read(*spaceText);
    if (auto *wrong = std::get_if<std::string>(&space))
      return fail(Code::BadPlan, fmt::format("{}: {}", spaceFile, *wrong));
    space_ = std::move(std::get<std::unique_ptr<MiningSpace>>(space));
    std::vector<std::string> paths;
    for (const DesignParameter &parameter : claim_.parameters) {
      auto found = space_->choices().find(parameter.name);
      if (found == space_->choices().end())
        return fail(Code::CertificateDisagrees,
                    fmt::format("{}: '{}' is chosen, '{}' leaves no such choice", file,
                                parameter.name, spaceFile));
      if (found->second != parameter.spelled)
        return fail(Code::CertificateDisagrees,
                    fmt::format("{}: '{}' is one of {}, in '{}' one of {}", file, parameter.name,
                                llvm::join(parameter.spelled, ", "), spaceFile,
                                llvm::join(found->second, ", ")));
      paths.push_back(parameter.name);
    }
    if (!space_->arrange(paths))
      return fail(Code::CertificateDisagrees,
                  fmt::format("{}: {} choices, '{}' leaves {}", file, paths.size(), spaceFile,
                              space_->choices().size()));
    if (llvm::Error error =
            agrees(claim_, space_->name(), space_->requirements(), *minedText, mined))
      return fail(Code::CertificateDisagrees, llvm::toString(std::move(error)));
    llvm::SHA256 hash;
    hash.update(*spaceText);
    out_.checked.push_back(fmt::format(
        "'{}' speaks of the space '{}' of {} (SHA-256 {}) and of the "
        "work of its certificate, whether or not files have changed",
        mined, space_->name(), kMiningSpace, llvm::toHex(hash.final(), true).substr(0, 16)));
    return true;
  }

  /// Ratios are to what was proved of each job alone.
  void checkOwn() {
    size_t alone = claim_.answers.size() - 1;
    if (claim_.blend == "worst_ratio" && claim_.jobs.size() > 1 && alone != claim_.jobs.size())
      return find("{} jobs, {} of which were mined alone", claim_.jobs.size(), alone);
    if (claim_.answers.back().jobs.size() != claim_.jobs.size())
      find("the answer is for {} of {} jobs", claim_.answers.back().jobs.size(),
           claim_.jobs.size());
    for (size_t j = 0; j < alone && j < claim_.jobs.size(); ++j) {
      const ClaimedAnswer &answer = claim_.answers[j];
      double best = claim_.jobs[j].best;
      if (answer.jobs != std::vector<size_t>{j})
        find("'{}' is not mined for job '{}' alone", answer.name, claim_.jobs[j].name);
      else if (answer.winner ? !close(best, answer.value) : best != 0)
        find("ratios of '{}' are to {:.9g}, its own best design is worth {:.9g}",
             claim_.jobs[j].name, best, answer.value);
    }
  }

  void checkWinner(MiningVerifier &verifier, const ClaimedAnswer &answer) {
    if (answer.bound > answer.value * (1 + 1e-9))
      find("'{}': its design is worth {:.9g}, below the bound of {:.9g}", answer.name, answer.value,
           answer.bound);
    if (!answer.winner)
      return;
    auto made = space_->exactly(*answer.winner);
    auto *machine = std::get_if<Machine>(&made);
    if (!machine)
      return find("'{}': {} is no machine: {}", answer.name, verifier.name(*answer.winner),
                  std::get<std::string>(made));
    if (auto broken = space_->broken(*answer.winner, *machine))
      return find("'{}': {} does not keep '{}': its area is {:.9g} mm2, its design power {:.9g} W",
                  answer.name, verifier.name(*answer.winner), *broken,
                  machine->area.squareMillimetres(), machine->tdp.value);
    std::vector<double> values;
    for (size_t job : answer.jobs)
      values.push_back(valueOfPlan(verifier, answer, job, *machine));
    if (!out_.holds())
      return;
    double value = verifier.blended(answer, values);
    if (!close(value, answer.value))
      return find("'{}': its design is said to be worth {:.9g}, its plans give {:.9g}", answer.name,
                  answer.value, value);
    out_.checked.push_back(fmt::format(
        "'{}': its design is one of the space, keeps all that is required, and is worth "
        "{:.9g} by {} that hold{}",
        answer.name, value, values.size() > 1 ? "plans" : "a plan", values.size() > 1 ? "" : "s"));
  }

  double valueOfPlan(MiningVerifier &verifier, const ClaimedAnswer &answer, size_t job,
                     const Machine &machine) {
    std::string at = folder_ + "/" + planFolder(claim_, answer, job), file = at + "/plan.json";
    auto buffer = llvm::MemoryBuffer::getFile(file);
    auto refused = [&](const std::string &message) {
      find("{}", message);
      return INFINITY;
    };
    if (!buffer)
      return refused(fmt::format("'{}', by which '{}' is valued, cannot be read: {}", file,
                                 answer.name, buffer.getError().message()));
    auto plan = planFromJson((*buffer)->getBuffer(), file);
    if (!plan)
      return refused(llvm::toString(plan.takeError()));
    const ClaimedJob &of = claim_.jobs[job];
    llvm::json::Value work = toJson(plan->graph);
    bool known = false;
    for (const ClaimedWay &way : of.ways)
      known = known || work == toJson(way.graph);
    if (!known)
      return refused(fmt::format("{}: its work, {} operations, is none of the {} of '{}' in '{}'",
                                 file, plan->graph.operations.size(), of.ways.size(), of.name,
                                 kMiningCertificate));
    if (plan->graph.microbatch * plan->graph.microbatches != of.batch || plan->batch != of.batch)
      return refused(fmt::format("{}: a step of {}, '{}' has one of {}", file, plan->batch, of.name,
                                 of.batch));
    if (std::string other = differs(plan->machine, machine); !other.empty())
      return refused(fmt::format("{}: {}", file, other));
    Verification proof = verify(*plan);
    for (const Issue &finding : proof.findings)
      out_.findings.push_back({finding.code, fmt::format("{}: {}", file, finding.message), {}, {}});
    if (!plan->feasible)
      return refused(fmt::format("{}: the step does not fit", file));
    Seconds step = plan->schedule.step.seconds();
    double joules = stepEnergyParts(plan->graph, plan->costs, plan->machine, step).total().value;
    return verifier.worth(machine, step.value, joules);
  }

  void checkBound(MiningVerifier &verifier, const ClaimedAnswer &answer) {
    auto designs = verifier.designs();
    if (!designs || *designs > MiningVerifier::kMostDesigns)
      return out_.trusted.push_back(
          fmt::format("the search: that no design is worth less than {:.9g} for '{}' is not proved "
                      "here, the space has more than {} designs",
                      answer.bound, answer.name, MiningVerifier::kMostDesigns));
    MiningProof proof;
    for (Issue &finding : verifier.proveBound(answer, proof))
      out_.findings.push_back(std::move(finding));
    if (!out_.holds())
      return;
    out_.checked.push_back(fmt::format(
        "'{}': of {} designs {} break what is required or are no machines, {} are not worth less "
        "than {:.9g} by their work, {} with the prices of the cost model, {} by the search alone",
        answer.name, proof.designs, proof.refused, proof.byWork, answer.bound, proof.byPrices,
        proof.bySearch));
    if (proof.bySearch > 0)
      out_.trusted.push_back(fmt::format(
          "the search: for {} designs it found no step of less than {:.9g} for '{}'; that there is "
          "none of less than {:.9g} is proved",
          proof.bySearch, answer.bound, answer.name, std::min(proof.proven, answer.bound)));
    if (proof.byPrices > 0)
      out_.trusted.push_back(
          fmt::format("the tiles that the cost model finds best, for {} designs of '{}'",
                      proof.byPrices, answer.name));
  }

  std::string folder_;
  bool json_;
  MiningClaim claim_;
  std::unique_ptr<MiningSpace> space_;
  Verification out_;
};

} // namespace

bool holdsMining(const std::string &path) {
  if (!llvm::sys::fs::is_directory(path))
    return llvm::sys::path::filename(path) == "mine.json";
  return llvm::sys::fs::exists(path + "/mine.json") ||
         llvm::sys::fs::exists(path + "/" + kMiningCertificate);
}

std::optional<Verification> verifyMining(const std::string &path, bool json) {
  return MiningProver(path, json).prove();
}

ClaimedPrices pricesOf(const MiningClaim &claim) {
  std::vector<std::vector<std::shared_ptr<PriceCache>>> caches;
  for (const ClaimedJob &job : claim.jobs) {
    auto &ways = caches.emplace_back();
    for (size_t way = 0; way < job.ways.size(); ++way)
      ways.push_back(std::make_shared<PriceCache>());
  }
  return [&claim, caches](size_t job, size_t way, const Machine &machine) -> std::optional<Costs> {
    EstimateOptions options;
    options.prices = caches[job][way].get();
    auto priced = estimate(claim.jobs[job].ways[way].graph, machine, options);
    auto *costs = std::get_if<Costs>(&priced);
    return costs ? std::optional(std::move(*costs)) : std::nullopt;
  };
}

std::string planFolder(const MiningClaim &claim, const ClaimedAnswer &answer, size_t job) {
  if (claim.jobs.size() == 1)
    return "plan";
  bool alone = &answer != &claim.answers.back();
  return "plan-" + claim.jobs[job].name + (alone ? "-alone" : "");
}

} // namespace accord
