// Proves again, from the text alone, what a placement claims. Nothing here knows how it was found.
#include "dialects/interfaces/Note.h"
#include "dialects/plan/PlanDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace mlir;
using accord::note;
using namespace accord::plan;

using Wide = __int128;
/// Plans nest a few repeats; deeper ones are refused rather than followed.
static constexpr size_t kDeepest = 64;

static std::string text(Wide value) {
  std::string digits;
  for (Wide rest = value; digits.empty() || rest > 0; rest /= 10)
    digits.insert(digits.begin(), "0123456789"[rest % 10]);
  return digits;
}

LogicalResult PlacementOp::verify() {
  if (getDirection() != "maximize" && getDirection() != "minimize")
    return emitOpError() << "is to 'maximize' or to 'minimize', found '" << getDirection() << "'";
  double value = getValue().convertToDouble(), bound = getBound().convertToDouble();
  bool maximize = getDirection() == "maximize";
  // The two are computed along different ways in binary floating point: one part in 2^40 is no
  // contradiction.
  double slack = 0x1p-40 * std::max(std::abs(value), std::abs(bound));
  if (!(maximize ? value <= bound + slack : value >= bound - slack))
    return emitOpError() << "objective '" << getObjective() << "' of " << value << " is "
                         << (maximize ? "above" : "below") << " its bound of " << bound;
  return success();
}

LogicalResult SlotOp::verify() {
  if (getCore() && getRuns())
    return emitOpError() << "'" << getName() << "' cannot be on a core and run a region";
  if (getInstance() && !getCore())
    return emitOpError() << "'" << getName() << "' names an instance of no core";
  return success();
}

LogicalResult TransferOp::verify() {
  if (getFrom() == getTo())
    return emitOpError() << "'" << getName() << "' moves from '" << getFrom() << "' to itself";
  return success();
}

namespace {
/// One instance of one core.
using Lane = std::pair<StringRef, uint64_t>;

class PlacementCheck {
public:
  explicit PlacementCheck(PlacementOp placement) : placement(placement) {}
  LogicalResult run() {
    return success(succeeded(collect()) && succeeded(checkRegions()) && succeeded(checkStep()) &&
                   succeeded(checkMemory()) && succeeded(checkBounds()));
  }

private:
  PlacementOp placement;
  llvm::StringMap<CoreOp> cores;
  llvm::StringMap<MemoryOp> memories;
  llvm::StringMap<RegionOp> regions;
  llvm::DenseMap<Operation *, SlotOp> owner;                ///< by region: the slot that runs it
  llvm::DenseMap<Operation *, llvm::SetVector<Lane>> lanes; ///< by region: what its slots hold

  /// Remembers a named thing; two of one name contradict each other.
  template <typename Thing> LogicalResult remember(llvm::StringMap<Thing> &all, Thing thing, StringRef what) {
    auto [place, fresh] = all.try_emplace(thing.getName(), thing);
    if (fresh)
      return success();
    return thing.emitError() << what << " '" << thing.getName() << "' is defined twice"
                             << note(place->second.getLoc(), "the first one is here");
  }

  LogicalResult collect() {
    for (Operation &operation : placement.getBody().front()) {
      if (auto core = dyn_cast<CoreOp>(operation); core && failed(remember(cores, core, "core")))
        return failure();
      if (auto memory = dyn_cast<MemoryOp>(operation); memory && failed(remember(memories, memory, "memory")))
        return failure();
      if (auto region = dyn_cast<RegionOp>(operation))
        regions.try_emplace(region.getSymName(), region); // symbols are unique already
    }
    for (StageOp stage : placement.getBody().getOps<StageOp>())
      for (auto reference : stage.getRegions().getAsRange<FlatSymbolRefAttr>())
        if (!regions.count(reference.getValue()))
          return stage.emitError() << "stage '" << stage.getName() << "' runs '" << reference.getValue()
                                   << "', which is no region of this placement";
    return success();
  }

  LogicalResult checkSlot(SlotOp slot) {
    if (std::optional<StringRef> name = slot.getCore()) {
      auto core = cores.find(*name);
      if (core == cores.end())
        return slot.emitError() << "'" << slot.getName() << "' is on core '" << *name
                                << "', which this placement has not";
      if (slot.getInstance().value_or(0) >= core->second.getCount())
        return slot.emitError() << "'" << slot.getName() << "' is on '" << *name << "'["
                                << slot.getInstance().value_or(0) << "], but there are " << core->second.getCount()
                                << note(core->second.getLoc(), "core '", *name, "' is here");
    }
    if (std::optional<StringRef> name = slot.getRuns()) {
      auto found = regions.find(*name);
      if (found == regions.end())
        return slot.emitError() << "'" << slot.getName() << "' runs '" << *name
                                << "', which is no region of this placement";
      RegionOp body = found->second;
      auto [place, fresh] = owner.try_emplace(body, slot);
      if (!fresh)
        return slot.emitError() << "region '" << *name << "' is run twice"
                                << note(place->second.getLoc(), "the first time is here");
      Wide overhang = body.iteration() - body.getLength(), all = Wide(body.getCount()) * body.getLength() + overhang;
      if (all != Wide(slot.getDuration()))
        return slot.emitError() << "'" << slot.getName() << "' lasts " << slot.getDuration() << " ps, but "
                                << body.getCount() << " iterations of " << body.getLength() << " ps "
                                << (overhang ? "and an overhang of " + text(overhang) + " ps " : std::string())
                                << "are " << text(all) << " ps" << note(body.getLoc(), "region '", *name, "' is here");
    }
    return success();
  }

  /// What the slots of a region hold, bodies included. `path` is the chain of regions on the way
  /// here.
  LogicalResult collectLanes(RegionOp region, SmallVectorImpl<Operation *> &path) {
    if (lanes.count(region))
      return success();
    if (llvm::is_contained(path, region))
      return region.emitError() << "region '" << region.getSymName() << "' runs itself";
    if (path.size() >= kDeepest)
      return region.emitError() << "regions nest deeper than " << kDeepest;
    path.push_back(region);
    llvm::SetVector<Lane> held;
    for (SlotOp slot : region.getBody().getOps<SlotOp>()) {
      if (slot.getCore())
        held.insert({*slot.getCore(), slot.getInstance().value_or(0)});
      if (slot.getRuns()) {
        RegionOp body = regions.lookup(*slot.getRuns());
        if (failed(collectLanes(body, path)))
          return failure();
        held.insert(lanes[body].begin(), lanes[body].end());
      }
    }
    path.pop_back();
    lanes[region] = std::move(held);
    return success();
  }

  LogicalResult checkLanes(RegionOp region) {
    std::map<Lane, SmallVector<SlotOp>> uses;
    for (SlotOp slot : region.getBody().getOps<SlotOp>()) {
      if (slot.getDuration() == 0)
        continue;
      if (slot.getCore())
        uses[{*slot.getCore(), slot.getInstance().value_or(0)}].push_back(slot);
      if (slot.getRuns())
        for (const Lane &lane : lanes[regions.lookup(*slot.getRuns())])
          uses[lane].push_back(slot);
    }
    // Where iterations overlap, all that any of them runs in one period.
    Wide period = region.getOverhang().value_or(0) > 0 ? Wide(region.getLength()) : Wide(0);
    auto begin = [&](SlotOp slot) { return period > 0 ? slot.begin() % period : slot.begin(); };
    for (auto &[lane, slots] : uses) {
      llvm::sort(slots, [&](SlotOp a, SlotOp b) {
        return std::pair(begin(a), a.getName()) < std::pair(begin(b), b.getName());
      });
      for (size_t i = 0; i < slots.size(); ++i) {
        if (i == 0 && period == 0)
          continue;
        SlotOp before = slots[i > 0 ? i - 1 : slots.size() - 1], after = slots[i];
        Wide next = begin(after) + (i > 0 ? 0 : period); // the first one of the next period
        if (begin(before) + Wide(before.getDuration()) <= next)
          continue;
        return after.emitError() << "'" << after.getName() << "' starts at " << after.getStart() << " ps on '"
                                 << lane.first << "'[" << lane.second << "], which '" << before.getName()
                                 << "' holds until " << text(before.end()) << " ps"
                                 << note(before.getLoc(), "'", before.getName(), "' is here");
      }
    }
    return success();
  }

  LogicalResult checkRegions() {
    for (RegionOp region : placement.getBody().getOps<RegionOp>())
      for (SlotOp slot : region.getBody().getOps<SlotOp>())
        if (failed(checkSlot(slot)))
          return failure();
    for (RegionOp region : placement.getBody().getOps<RegionOp>()) {
      SmallVector<Operation *> path;
      if (failed(collectLanes(region, path)))
        return failure();
    }
    for (RegionOp region : placement.getBody().getOps<RegionOp>())
      if (failed(checkLanes(region)))
        return failure();
    return success();
  }

  LogicalResult checkStep() {
    Wide step = 0;
    for (RegionOp region : placement.getBody().getOps<RegionOp>())
      if (!owner.count(region) && __builtin_add_overflow(step, Wide(region.getCount()) * region.getLength(), &step))
        return placement.emitError() << "the step is too long to count";
    if (step != Wide(placement.getStep()))
      return placement.emitError() << "the step is given as " << placement.getStep() << " ps, but its regions take "
                                   << text(step) << " ps";
    return success();
  }

  LogicalResult checkMemory() {
    bool feasible = placement.getBody().getOps<ConflictOp>().empty();
    llvm::StringMap<Wide> used;
    for (ResidencyOp residency : placement.getBody().getOps<ResidencyOp>()) {
      auto memory = memories.find(residency.getMemory());
      if (memory == memories.end())
        return residency.emitError() << "'" << residency.getCategory() << "' is in memory '" << residency.getMemory()
                                     << "', which this placement has not";
      Wide &sum = used[residency.getMemory()];
      sum += residency.getBytes();
      if (feasible && sum > Wide(memory->second.getCapacity()))
        return residency.emitError() << "'" << residency.getCategory() << "' brings memory '" << residency.getMemory()
                                     << "' to " << text(sum) << " B of " << memory->second.getCapacity() << " B"
                                     << note(memory->second.getLoc(), "memory '", residency.getMemory(), "' is here");
    }
    return success();
  }

  LogicalResult checkBounds() {
    for (BoundOp bound : placement.getBody().getOps<BoundOp>())
      if (placement.getStep() < bound.getStep())
        return bound.emitError() << "the step of " << placement.getStep() << " ps is shorter than its bound of "
                                 << bound.getStep() << " ps by " << bound.getProof()
                                 << note(placement.getLoc(), "the step is given here");
    return success();
  }
};
} // namespace

LogicalResult PlacementOp::verifyRegions() { return PlacementCheck(*this).run(); }

/// What a region can say by itself: names, ends and precedences.
LogicalResult RegionOp::verifyRegions() {
  llvm::StringMap<SlotOp> slots;
  for (SlotOp slot : getBody().getOps<SlotOp>()) {
    auto [place, fresh] = slots.try_emplace(slot.getName(), slot);
    if (!fresh)
      return slot.emitError() << "'" << slot.getName() << "' has two slots"
                              << note(place->second.getLoc(), "the first one is here");
    if (slot.end() > iteration()) {
      return slot.emitError() << "'" << slot.getName() << "' ends at " << text(slot.end()) << " ps, after its region's "
                              << text(iteration()) << " ps" << note(getLoc(), "region '", getSymName(), "' is here");
    }
  }
  auto precedence = [&](Operation *operation, StringRef name, uint64_t start, ArrayAttr after) -> LogicalResult {
    for (auto waited : after.getAsRange<StringAttr>()) {
      auto found = slots.find(waited.getValue());
      if (found == slots.end())
        return operation->emitError() << "'" << name << "' waits for '" << waited.getValue()
                                      << "', which has no slot in this region";
      SlotOp before = found->second;
      if (before.end() <= Wide(start))
        continue;
      return operation->emitError() << "precedence violated: '" << before.getName() << "' ends at "
                                    << text(before.end()) << " ps but '" << name << "' starts at " << start << " ps"
                                    << note(before.getLoc(), "'", before.getName(), "' is here");
    }
    return success();
  };
  for (Operation &operation : getBody().front()) {
    if (auto slot = dyn_cast<SlotOp>(operation); slot && slot.getAfter())
      if (failed(precedence(slot, slot.getName(), slot.getStart(), *slot.getAfter())))
        return failure();
    if (auto transfer = dyn_cast<TransferOp>(operation); transfer && transfer.getAfter())
      if (failed(precedence(transfer, transfer.getName(), transfer.getStart(), *transfer.getAfter())))
        return failure();
  }
  return success();
}
