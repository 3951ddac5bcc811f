// Proves again what a mining claims: its winner, and that no design of the space is worth less.
#pragma once
#include "lib/exploration/problem/MiningCertificate.h"
#include "lib/exploration/verify/ProgramTimeBound.h"
#include "lib/machine/model/Costs.h"
#include "lib/machine/model/Machine.h"
#include "lib/support/Result.h"
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <variant>

namespace accord {

/// A step of a job that is worth something.
struct StepUse {
  double seconds = 0, joules = 0;
  int64_t batch = 1;
  bool orMore = false; ///< it takes so long, and so much energy, at least
};

/// The machines of a space, as a verifier asks for them.
class CertificateMachines {
public:
  virtual ~CertificateMachines() = default;
  /// With area and design power, by numbers alone: some that are no machines come, too. Null: none.
  /// Until the next call.
  virtual const Machine *nearly(const Design &design) = 0;
  /// As a description of it alone is read.
  virtual std::variant<Machine, std::string> exactly(const Design &design) = 0;
  /// The words of a requirement that it does not keep.
  virtual std::optional<std::string> violatedRequirement(const Design &design, const Machine &machine) = 0;
  /// What the space makes least, of a step on the design that was asked for last, whose machine it is. NaN: no value.
  virtual double metricValue(const Machine &, const StepUse &) { return NAN; }
};

/// Prices of a way's operations on a machine by its own cost model; nothing where it has none. On
/// clusters of a step's, whose number is that among all steps of the job's clusters.
using CertificatePrices = std::function<std::optional<Costs>(size_t job, size_t alternative, const Machine &machine)>;

/// Seconds that no schedule of a claim's plan is below, proved of that plan with these costs on
/// this machine; 0 where it proves nothing.
using CertificateSchedules =
    std::function<double(const CertificatePlan &plan, const Machine &machine, const Costs &costs)>;

/// A stated placement problem of a design, whose layers cost what they cost on this machine;
/// nothing: it cannot be read, or they do not.
using CertificatePlacements = std::function<std::optional<PlacementProblem>(
    const CertificatePlan &plan, const Design &design, const Machine &machine)>;

/// How many designs of the space are not worth less than the bound, and why not.
struct MiningProof {
  uint64_t designs = 0;
  uint64_t refused = 0;     ///< break a requirement, or are no machine
  uint64_t byWork = 0;      ///< by arithmetic, compulsory bytes, dependences and device memory
  uint64_t byPrices = 0;    ///< with the prices of the cost model
  uint64_t byPlans = 0;     ///< by bounds of all schedules, with the plans that the claim has
  uint64_t bySearch = 0;    ///< a plan below the bound is not ruled out; the search found none
  uint64_t unplaced = 0;    ///< of these: a job's cluster is said to have no form of a stage
  double proven = INFINITY; ///< no design is worth less, by what is proved here
};

/// Designs that `proveBound` would not rule out.
struct UnprovenDesign {
  Design design;
  double floor = 0; ///< it is not worth less
  /// Ways that are not ruled out: without a number.
  std::vector<CertificatePlan> alternatives;
  /// Forms of placements that are not ruled out, by job on a cluster.
  std::map<size_t, std::vector<PlacementProblem::Id>> parallelConfigs;
  /// By job, what these may be worth less than, and what no placement is worth less than.
  std::map<size_t, std::pair<double, double>> configsBelow;
};

/// Of the claim's space. Nothing: more than 2^63 - 1, or on clusters of which a few are listed.
std::optional<uint64_t> designsOf(const MiningCertificate &certificate);
/// The design behind it, the last parameter counts fastest; false: it was the last one.
bool next(const MiningCertificate &certificate, Design &design);

class MiningVerifier {
public:
  /// Spaces of more designs are not enumerated.
  static constexpr uint64_t kMaxDesigns = 10'000'000;

  /// Certificate and machines outlive it. `programs`: of operations of jobs on one device; null: none are known.
  MiningVerifier(const MiningCertificate &certificate, CertificateMachines &machines, CertificatePrices prices,
                 const OperationPrograms &programs = {});
  ~MiningVerifier();

  /// Designs whose worth is not proved to be `answer.bound` or more; counts into `proof` all but those.
  std::vector<UnprovenDesign> open(const CertificateAnswer &answer, MiningProof &proof);
  /// Findings A0906. Every design of the space is the bound's or more, or among the survivors with such a value; where
  /// the search was stopped, it counts as `bySearch`.
  Errors proveBound(const CertificateAnswer &answer, MiningProof &proof, const CertificateSchedules &schedules = {},
                    const CertificatePlacements &placements = {});
  /// What a placement problem says otherwise than a job's cluster in a design, with this machine; empty: nothing.
  std::string differs(size_t job, const PlacementProblem &stated, const Design &design, const Machine &machine);
  /// Whether the metric is what the space makes least.
  bool byExpression() const;
  /// What the metric makes of a step.
  double metricValue(const Machine &machine, const StepUse &step) const;
  /// Of the jobs of an answer, given the value of each.
  double aggregate(const CertificateAnswer &answer, const std::vector<double> &values) const;
  /// How a design is named in messages: "mxu.count 6, vpu.count 1".
  std::string name(const Design &design) const;

private:
  struct Data;
  std::unique_ptr<Data> data_;
};

} // namespace accord
