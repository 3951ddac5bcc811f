// Values of a `jobs` block: numbers with their units, numbers that change at stated times, and names.
#pragma once
#include "lib/jobs/problem/JobsRequest.h"
#include "lib/language/requests/BlockReader.h"

namespace accord {

/// What a key is measured in, and up to how much.
struct JobUnit {
  const char *what;    ///< "a time", for messages
  Dimension dimension; ///< none: a plain number
  const char *example; ///< "8 h"
  Rational max;        ///< in base units
  const char *maxText; ///< "1000 GW", for messages
};
namespace job_units {
extern const JobUnit kTime, kPower, kPrice, kMoney, kEnergy, kMass, kCarbon, kFactor;
} // namespace job_units

constexpr int64_t kMaxJobDevices = 1 << 20, kMaxJobBatch = int64_t(1) << 40;
constexpr size_t kMaxJobBatches = 32;

enum class JobBound : uint8_t { Any, Zero, AboveZero };

/// A name of a job, a tenant, or a device type as it is written: `sweep`, `sweep[2]`.
struct JobName {
  std::string text;
  std::optional<int64_t> index;
  SourceRange range;
  std::string print() const { return index ? text + "[" + std::to_string(*index) + "]" : text; }
};

/// Of one block: `reader` reports keys that are given twice or that it does not have.
class JobValues {
public:
  JobValues(Diagnostics &diags, const Lookup &lookup, std::string what)
      : reader(diags, lookup, std::move(what)), diags(diags), lookup(lookup) {}

  /// In base units; nothing after an error. `form`: what stands before the example of its unit, unless `name =`.
  std::optional<double> quantity(const Constant &value, llvm::StringRef name, const JobUnit &unit,
                                 JobBound bound = JobBound::Zero, const std::string &form = "");
  /// A number in brackets, 1 to `max`: `has` is "array 'a' has", `noun` "jobs". Nothing after an error.
  std::optional<int64_t> count(const ast::Expr &expr, const std::string &has, const char *noun, int64_t max);
  /// A value as it is written, where it is a number, else what it is.
  std::string shown(const Constant &value) const;
  /// One quantity, or `{0 h: 30 kW, 6 h: 12 kW}`: at times that ascend from 0. `integer`: plain whole numbers.
  std::optional<jobs::Steps> steps(const Constant &value, llvm::StringRef name, const JobUnit &unit, bool integer);
  /// `{0: 1, 0.5: 1.4}`: factors above 0, at shares that ascend from 0 and are below 1.
  std::optional<jobs::Steps> phases(const Constant &value, llvm::StringRef name);
  /// A gradient noise scale in samples, or `{0: 800, 0.3: 2400}`: at shares as those of phases.
  std::optional<jobs::Steps> noise(const Constant &value, llvm::StringRef name);
  /// `128..4096` or `{128, 256}`; those of a set ascend. False after an error.
  bool batches(const Constant &value, llvm::StringRef name, jobs::JobsRequest::Batches &into);
  std::optional<bool> truth(const Constant &value, llvm::StringRef name);
  /// Names as they are written, each once, whatever else they mean in the file: one, or a set in braces. With an index
  /// only where `indexed`. Nothing after an error.
  std::optional<std::vector<JobName>> names(const ast::Expr &expr, llvm::StringRef key, bool indexed,
                                            const std::string &example);
  /// Just one of them.
  std::optional<JobName> name(const ast::Expr &expr, llvm::StringRef key, const std::string &example);
  /// Reports an entry that is not of the form `example`; whether it is. What `node` has beyond a kind, a name and what
  /// is allowed here is too much.
  struct Form {
    bool count = false, value = false, block = false;
    bool valueNeeded = false, blockNeeded = false;
    const char *example;
  };
  bool hasForm(const ast::Node &node, const ast::Entry &entry, const Form &form);
  /// Reads the entries of a block, which has `keys` alone; `form` is an example of it.
  void entries(const ast::Node &node, const std::vector<std::string> &keys, const BlockReader::KeyReaders &readers,
               const char *form);

  BlockReader reader;

private:
  std::optional<Quantity> stepKey(const ast::Name &key, llvm::StringRef name, const JobUnit *time);
  std::optional<jobs::Steps> stepsOf(const MapValue &map, llvm::StringRef name, const JobUnit *time,
                                     llvm::function_ref<std::optional<double>(const Constant &)> amount);
  std::optional<JobName> oneName(const ast::Expr &expr, bool indexed);

  Diagnostics &diags;
  const Lookup &lookup;
};

/// The nearest name, unless errors are no longer shown: of many candidates it takes long.
std::string nearestShown(const Diagnostics &diags, llvm::StringRef name, llvm::ArrayRef<std::string> candidates);

} // namespace accord
