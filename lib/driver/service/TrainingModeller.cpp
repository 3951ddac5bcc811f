#include "lib/driver/service/TrainingModeller.h"
#include "lib/driver/jobs/TrainingPlans.h"
#include "lib/driver/service/SubmissionFiles.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>

namespace accord {
namespace {
using namespace service;

class TrainingModeller : public JobModeller {
public:
  TrainingModeller(Options options, ClusterDescription cluster, std::string folder)
      : options(std::move(options)), described(std::move(cluster)), folder(std::move(folder)) {}

  Result<ModelledJob, Errors> model(const ServedJob &job, const jobs::Cluster &cluster) override {
    const Submission &from = job.submission;
    const std::filesystem::path at = std::filesystem::path(folder) / std::to_string(job.id);
    const llvm::scope_exit forget([&] { // the state has them
      std::error_code error;
      std::filesystem::remove_all(at, error);
    });
    if (auto written = writeSubmissionFiles(from.files, at.string()); !written)
      return Errors{written.error()};
    Options own = options;
    own.file = (at / from.main).string();
    own.elaborate.train = from.train;
    own.readable = {at.string()};
    own.described = {llvm::sys::path::parent_path(described.target).str()};
    own.errors = std::make_shared<Errors>();
    auto fail = [&]() -> Result<ModelledJob, Errors> {
      for (Error &error : *own.errors) // as the user called the files
        if (llvm::StringRef file = error.location.file; file.consume_front(at.string() + "/"))
          error.location.file = file.str();
      if (own.errors->empty())
        own.errors->push_back({Code::WrongServiceRequest, "the training cannot be read"});
      return *own.errors;
    };
    TrainingPlans plans(own);
    if (!plans.prepare())
      return fail();
    ModelledJob made{{}, {}, {}};
    made.table.samples = job.samples > 0 ? job.samples : plans.samples();
    if (made.table.samples <= 0)
      return Errors{{Code::WrongServiceRequest,
                     "nothing says how long the job trains: 'samples' of the submission, or in its `train` block"}};
    for (unsigned type = 0; type < cluster.types.size(); ++type) {
      const std::string &name = cluster.types[type];
      const auto known = std::ranges::find(described.types, name);
      if (known == described.types.end() ||
          (!from.deviceTypes.empty() && std::ranges::count(from.deviceTypes, name) == 0))
        continue;
      const double rent = described.pricePerHour[known - described.types.begin()] / 3600;
      const std::vector<int64_t> counts = jobs::deviceCounts(cluster, type, from.minDevices, from.maxDevices);
      auto rows = plans.on({described.target, name, 0, 0}, counts, 0);
      if (!rows)
        return fail();
      for (const DeviceCountPlan &one : *rows)
        addRow(one, type, name, rent, plans.batch(), made.table);
    }
    if (made.table.rows.empty())
      return Errors{{Code::WrongServiceRequest, made.table.reason.empty() ? "no devices that are described may run it"
                                                                          : "it fits nowhere: " + made.table.reason}};
    made.assumptions = plans.assumptions();
    return std::move(made);
  }

private:
  static void addRow(const DeviceCountPlan &one, unsigned type, const std::string &name, double rent, int64_t batch,
                     jobs::JobTable &table) {
    if (!one.fits) {
      table.reason = fmt::format("on {} {}: {}", one.devices, name, one.reason);
      return;
    }
    jobs::TableRow row;
    row.type = type, row.devices = one.devices;
    row.rate = static_cast<double>(batch) / one.step;
    row.lowRate = one.stepHigh > 0 ? static_cast<double>(batch) / one.stepHigh : 0;
    row.watts = one.watts, row.price = rent * static_cast<double>(one.devices);
    row.step = one.step, row.memory = one.memory, row.plan = one.plan, row.launch = one.launch;
    row.batch = row.ownBatch = batch, row.accumulation = one.accumulation;
    table.rows.push_back(std::move(row));
  }

  const Options options;
  const ClusterDescription described;
  const std::string folder;
};

} // namespace

std::shared_ptr<JobModeller> trainingModeller(const Options &options, ClusterDescription cluster,
                                              const std::string &folder) {
  return std::make_shared<TrainingModeller>(options, std::move(cluster), folder);
}

} // namespace accord
