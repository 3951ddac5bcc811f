// What a `DesignSpace` holds: its description in a context of its own, the parameters in it, and
// what has been read of its blocks.
#pragma once
#include "dialects/accel/AccelDialect.h"
#include "dialects/accel/Schema.h"
#include "lib/exploration/space/DesignSpace.h"
#include "lib/exploration/space/DesignTerms.h"
#include "lib/machine/translate/MachineProperties.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>

namespace accord {

/// Where a value of the description stands: a key of an operation, and in it an element (of an
/// array) or a member (of a map).
struct DesignPlace {
  mlir::Operation *op = nullptr;
  std::string key; ///< "count": how many of a core there are
  int element = -1;
  std::string member;
  mlir::Attribute value;
  const accel::KeySchema *schema = nullptr; ///< of `count`: that of a positive integer
  std::string path;
};

/// A value that depends on parameters.
struct DesignSite {
  DesignPlace place;
  int term = -1;
  std::optional<size_t> parameter; ///< it is this choice itself
};

/// Which numbers of a box a machine is made of: of the one design; every number as small or large
/// as it gets; each at what helps most.
enum class BoxCorner : uint8_t { Design, Min, Max, Best };

/// The choices in a box that a block depends on, and which end.
using BlockKey = std::vector<uint32_t>;

/// Results by key, each computed once; what is found stays where it is.
template <class T> class BlockCache {
public:
  using Found = Result<T>;
  template <class Compute> const Found &get(const BlockKey &key, Compute compute) {
    {
      std::shared_lock lock(mutex);
      if (auto found = all.find(key); found != all.end())
        return *found->second;
    }
    Found made = compute();
    std::unique_lock lock(mutex);
    return *all.try_emplace(key, std::make_unique<Found>(std::move(made))).first->second;
  }

private:
  std::shared_mutex mutex;
  std::map<BlockKey, std::unique_ptr<Found>> all;
};

/// What `DesignSpace::measure` was told.
struct DesignMetric {
  std::string text, printed; ///< as written; in the accel dialect
  int term = -1;
  bool maximize = false;
  bool area = false, power = false, energy = false; ///< it speaks of them
  bool parts = false;                               ///< other numbers of a machine
  bool ends = false;                                ///< of a box it takes the largest area or design power, too
};

/// Operations that are read together: a memory, a core, or the accelerator with power and area.
struct DesignBlock {
  std::vector<mlir::Operation *> ops;
  std::vector<DesignSite> sites;
  std::vector<size_t> parameters; ///< ascending: its own, and those of clock and technology
  /// How many of a core there are, where nothing else of it depends on that: not among
  /// `parameters`.
  std::optional<size_t> count;
};

struct DesignSpace::Data {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;  ///< as it was written
  mlir::OwningOpRef<mlir::ModuleOp> working; ///< a copy whose values are set before it is read
  accel::AcceleratorOp written, accelerator; ///< in `module`, in `working`
  std::string name;

  std::vector<DesignParameter> parameters; ///< its own, then those beside it
  size_t own = 0;
  std::vector<std::vector<mlir::Attribute>> choices; ///< by parameter
  std::vector<DesignPlace> places;                   ///< by parameter
  std::map<std::string, DesignPlace> paths;          ///< every value that has one
  DesignTerms terms;
  std::map<std::string, int> termOf; ///< by path; -1 while it is being looked into

  std::vector<DesignRequirement> requirements;
  std::vector<int> conditions;      ///< by requirement
  std::map<size_t, double> relaxed; ///< by requirement: times its limit
  std::optional<DesignMetric> measure;
  bool needsArea = false, needsPower = false;
  bool powerKnown = false; ///< every energy is stated or tabulated
  std::vector<std::string> costNames;

  MemoryOrder order; ///< of `working`
  DesignBlock head;
  std::vector<DesignBlock> memories, cores; ///< memories in their order
  int clock = -1, node = -1;                ///< terms of keys that others depend on
  bool openTypes = false;                   ///< the type of a core is a parameter
  int depth = 0;                            ///< of values that are being looked into

  std::mutex reading; ///< of `working`
  BlockCache<MachineProperties> heads;
  std::vector<std::unique_ptr<BlockCache<Memory>>> readMemories;
  std::vector<std::unique_ptr<BlockCache<Core>>> readCores;
  std::vector<std::unique_ptr<BlockCache<bool>>> checked; ///< of each core with its memory
  std::mutex filling;
  std::map<std::string, Machine> energies; ///< of arithmetic, by node and types

  // DesignParameters.cpp
  void findPlaces(Errors &errors);
  Result<int> termAt(const std::string &path, bool requirement);
  void findSites(Errors &errors);
  void findRequirements(Errors &errors);
  SourceLocation locationOf(const DesignPlace &place) const;

  bool holds(const DesignBox &box) const; ///< as many choices as parameters, each there is

  // DesignLimits.cpp
  /// Which operand of a requirement is its limit.
  std::optional<size_t> limitOf(size_t requirement) const;
  /// Whether a requirement is kept, over the box.
  DesignInterval<double> satisfied(size_t requirement, const DesignBox &box, const DesignFigures &figures) const;

  // DesignText.cpp
  std::string textOf(const Design &design, const std::vector<std::string> &comments);

  // DesignBlocks.cpp
  BlockKey keyOf(const std::vector<size_t> &parameters, const DesignBox &box, BoxCorner end) const;
  Result<Machine> machine(const DesignBox &box, BoxCorner end);
  const Result<MachineProperties> &headAt(const DesignBox &box, BoxCorner end);
  const Result<Memory> &memoryAt(size_t index, const DesignBox &box, BoxCorner end);
  const Result<Core> &coreAt(size_t index, const DesignBox &box, BoxCorner end);
  std::optional<Error> checkAt(size_t core, const DesignBox &box, int memory);
  DesignFigures figures(const DesignBox &box);

private:
  std::optional<Error> substitute(const DesignBlock &block, const DesignBox &box, BoxCorner end);
  Result<mlir::Attribute> valueAt(const DesignSite &site, const DesignBox &box, bool max) const;
  Rational exactAt(int term, const DesignBox &box, bool max) const;
  template <class Read> std::optional<Error> listen(Read read);
};

/// All values of a choice, spelled as they are written, their numbers ascending. A problem says
/// why there are none.
Result<std::vector<mlir::Attribute>> valuesOf(accel::ChoiceAttr choice, const accel::KeySchema &schema);
std::string spellingOf(mlir::Attribute value);
/// What was said first, with its code.
Error errorOf(mlir::Diagnostic &said);
Error errorOf(const Error &problem, SourceLocation location);

} // namespace accord
