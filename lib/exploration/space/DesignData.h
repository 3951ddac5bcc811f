// What a `DesignSpace` holds: its description in a context of its own with the parameters in it, and the machines that
// are read from it.
#pragma once
#include "dialects/accel/AccelDialect.h"
#include "dialects/accel/Schema.h"
#include "lib/exploration/space/DesignSpace.h"
#include "lib/exploration/space/DesignTerms.h"
#include "lib/machine/translate/MachineProperties.h"
#include "mlir/IR/BuiltinOps.h"
#include <deque>
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
  bool declared = false; ///< a parameter of a microarchitecture: others follow from it, and it stands nowhere itself
};

/// A value that depends on parameters.
struct DesignSite {
  DesignPlace place;
  int term = -1;
  std::optional<size_t> parameter;  ///< it is this choice itself
  std::vector<size_t> follows = {}; ///< of cycles of an instruction, which are no term: parameters in them
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

/// A description with the parameters, terms and requirements in it.
struct DesignDescription {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< as it was written
  accel::AcceleratorOp written;             ///< in `module`
  std::string name;

  std::vector<DesignParameter> parameters; ///< its own, then those beside it
  size_t own = 0;
  std::vector<std::vector<mlir::Attribute>> choices; ///< by parameter
  std::vector<DesignPlace> places;                   ///< by parameter
  std::map<std::string, DesignPlace> paths;          ///< every value that has one
  DesignTerms terms;

  std::map<std::string, unsigned> order; ///< by path, from 1: of parameters whose places are not known

  std::vector<DesignRequirement> requirements;
  std::vector<int> conditions;      ///< by requirement
  std::map<size_t, double> relaxed; ///< by requirement: times its limit
  bool needsArea = false, needsPower = false;
  bool powerKnown = false; ///< every energy is stated or tabulated
  bool openTypes = false;  ///< the type of a core is a parameter

  void findPlaces(Errors &errors);
  void findRequirements(Errors &errors);
  /// The term of what a path names; `requirement`: also of figures of a whole machine.
  Result<int> termAt(const std::string &path, bool requirement);
  Result<int> junctionTerm();
  SourceLocation locationOf(const DesignPlace &place) const;
  bool holds(const DesignBox &box) const; ///< as many choices as parameters, each there is
  /// Which operand of a requirement is its limit.
  std::optional<size_t> limitOf(size_t requirement) const;
  /// Whether a requirement is kept, over the box.
  DesignInterval<double> satisfied(size_t requirement, const DesignBox &box, const DesignFigures &figures) const;

private:
  void addParameter(const DesignPlace &place, Errors &errors);
  const accel::KeySchema *schemaOf(accel::ChoiceAttr parameter);

  std::deque<accel::KeySchema> schemas; ///< of parameters of microarchitectures
  std::map<std::string, int> termOf;    ///< by path; -1 while it is being looked into
  int depth = 0;                        ///< of values that are being looked into
};

/// Operations that are read together: a memory, a core with its microarchitecture, or the accelerator with power and
/// area.
struct DesignBlock {
  std::vector<mlir::Operation *> ops;
  std::vector<DesignSite> sites;
  std::vector<size_t> parameters; ///< ascending: its own, and those of clock and technology
  /// How many of a core there are, where nothing else of it depends on that: not among `parameters`.
  std::optional<size_t> count;
};

/// What the macros and interfaces of a memory take in any design of a box: square metres, and joules for a byte.
struct MacroSpan {
  ComponentSpan area, energy, standby;
};

/// The machines of a description, from blocks that are read once for each choice of what they depend on. The
/// description stays as long.
class DesignMachines {
public:
  explicit DesignMachines(DesignDescription &description) : design(description) {}
  /// Of a description whose places were found. False after errors of the order of its memories.
  bool findBlocks();
  void findSites(Errors &errors);

  Result<Machine> machine(const DesignBox &box, BoxCorner end);
  DesignFigures figures(const DesignBox &box);
  std::string text(const Design &chosen);

private:
  std::vector<DesignBlock *> blocks();
  std::optional<Error> siteError(const DesignPlace &place, int term) const;
  bool countsAlone(const DesignBlock &core, size_t count) const;

  BlockKey keyOf(const std::vector<size_t> &parameters, const DesignBox &box, BoxCorner end) const;
  const Result<MachineProperties> &headAt(const DesignBox &box, BoxCorner end);
  const Result<Memory> &memoryAt(size_t index, const DesignBox &box, BoxCorner end);
  const Result<Core> &coreAt(size_t index, const DesignBox &box, BoxCorner end);
  std::optional<Error> checkAt(size_t core, const DesignBox &box, int memory);
  void addEnergies(double process, Machine &machine);
  const MacroSpan &macrosAt(size_t index, const DesignBox &box);
  MacroSpan macroSpan(size_t index, const DesignBox &box, const std::vector<size_t> &open);
  std::optional<Error> addComponents(const MachineProperties &properties, const DesignBox &box, BoxCorner end,
                                     Machine &machine);

  std::optional<Error> addCycles(const DesignPlace &place, DesignBlock &block, std::set<size_t> &depends);
  mlir::Attribute cyclesAt(mlir::Attribute value, const DesignBox &box, BoxCorner end) const;
  std::optional<Error> substitute(const DesignBlock &block, const DesignBox &box, BoxCorner end);
  void setBestWord(const DesignSite &site, const DesignBox &box, mlir::NamedAttrList &list);
  Result<mlir::Attribute> valueAt(const DesignSite &site, const DesignBox &box, bool max) const;
  Rational exactAt(int term, const DesignBox &box, bool max) const;
  template <class T> Result<T> listen(llvm::function_ref<mlir::FailureOr<T>()> read);

  DesignDescription &design;
  mlir::OwningOpRef<mlir::ModuleOp> working; ///< a copy whose values are set before it is read
  accel::AcceleratorOp accelerator;          ///< in `working`
  MemoryOrder order;                         ///< of `working`
  DesignBlock head;
  std::vector<DesignBlock> memories, cores; ///< memories in their order
  int clock = -1, node = -1, voltage = -1;  ///< terms of keys that others depend on

  std::mutex reading; ///< of `working`
  BlockCache<MachineProperties> heads;
  std::vector<std::unique_ptr<BlockCache<Memory>>> readMemories;
  std::vector<std::unique_ptr<BlockCache<MacroSpan>>> macros; ///< of each memory
  std::vector<std::unique_ptr<BlockCache<Core>>> readCores;
  std::vector<std::unique_ptr<BlockCache<bool>>> checked; ///< of each core with its memory
  std::mutex filling;
  std::map<std::string, Machine> energies; ///< of arithmetic, by node and types
};

/// What `DesignSpace::measure` was told.
struct DesignMetric : MetricFigures {
  std::string text, printed; ///< as written; in the accel dialect
  int term = -1;
  bool maximize = false;
  bool ends = false; ///< of a box it takes the largest area or design power, too
};
/// What an expression measures, or why it is no metric of the designs.
Result<DesignMetric, MetricError> metricOf(DesignDescription &design, DesignMachines &machines, bool maximize,
                                           const std::string &text, mlir::Attribute expression);
/// Of a box's one design, or of which none is worth less: see `DesignSpace::metricValue`.
double evaluateMetric(const DesignMetric &metric, const DesignDescription &design, DesignMachines &machines,
                      const DesignBox &box, const Machine &machine, const MeasuredStep &step);

/// What a microarchitecture and its parts have in common with blocks of an accelerator, by their paths in front:
/// "c." of a core c, "c.port." of its part.
std::vector<std::tuple<mlir::Operation *, std::string, const accel::BlockSchema *>>
blocksOf(accel::MicroarchitectureOp op, const std::string &core);
/// All values of a choice, spelled as they are written, their numbers ascending. A problem says
/// why there are none.
Result<std::vector<mlir::Attribute>> valuesOf(accel::ChoiceAttr choice, const accel::KeySchema &schema);
std::string spellingOf(mlir::Attribute value);
/// What was said first, with its code.
Error errorOf(mlir::Diagnostic &said);
Error errorOf(const Error &problem, SourceLocation location);

} // namespace accord
