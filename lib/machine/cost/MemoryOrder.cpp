#include "lib/machine/cost/MemoryOrder.h"
#include "dialects/accel/KeyLocations.h"
#include "lib/support/EmitError.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace accord {
namespace {

struct Paths {
  llvm::DenseMap<Operation *, llvm::SetVector<Operation *>> nearer; ///< memory -> the next ones on some path
  llvm::DenseMap<Operation *, Operation *> feeds;                   ///< core -> the memory before it
  llvm::SetVector<Operation *> onPath;
};

Paths collect(accel::AcceleratorOp accelerator) {
  Paths paths;
  for (auto path : accelerator.getBody().getOps<accel::PathOp>()) {
    SmallVector<Operation *> before;
    for (Attribute stop : path.getStops()) {
      SmallVector<Operation *> here;
      for (auto name : cast<ArrayAttr>(stop).getAsRange<FlatSymbolRefAttr>())
        if (Operation *target = SymbolTable::lookupSymbolIn(accelerator.getOperation(), name))
          here.push_back(target);
      for (Operation *target : here) {
        paths.onPath.insert(target);
        for (Operation *farther : before)
          if (isa<accel::MemoryOp>(target))
            paths.nearer[farther].insert(target);
          else
            paths.feeds.try_emplace(target, farther);
      }
      before = here;
    }
  }
  return paths;
}

std::string nameOf(Operation *operation) { return cast<SymbolOpInterface>(operation).getName().str(); }

} // namespace

FailureOr<MemoryOrder> memoryOrder(accel::AcceleratorOp accelerator) {
  MemoryOrder order;
  Paths paths = collect(accelerator);
  SmallVector<accel::MemoryOp> left(accelerator.getBody().getOps<accel::MemoryOp>());
  bool hasPath = !accelerator.getBody().getOps<accel::PathOp>().empty();
  if (!hasPath) {
    for (accel::MemoryOp memory : left)
      if (memory.getKind() == "dram")
        order.memories.push_back(memory);
    for (accel::MemoryOp memory : left)
      if (memory.getKind() != "dram")
        order.memories.push_back(memory);
  }
  for (accel::MemoryOp memory : left)
    if (hasPath && !paths.onPath.contains(memory))
      return emitError(accel::blockLocation(memory), Code::UnreachableMemory)
             << "no path reaches memory '" << memory.getSymName() << "'";
  // The next one is the memory that no memory left stands before; there must be exactly one each time.
  while (hasPath && !left.empty()) {
    SmallVector<accel::MemoryOp> next;
    for (accel::MemoryOp memory : left)
      if (llvm::none_of(left, [&](accel::MemoryOp other) { return paths.nearer[other].contains(memory); }))
        next.push_back(memory);
    if (next.empty())
      return emitError(accel::blockLocation(left.front()), Code::PathOrder)
             << "the paths form a cycle through memory '" << left.front().getSymName() << "'";
    if (next.size() > 1) {
      auto error = emitError(accel::blockLocation(next[1]), Code::NotSupported)
                   << "memories '" << nameOf(next[0]) << "' and '" << nameOf(next[1])
                   << "' stand side by side: plans need memories one behind the other";
      error.attachNote(accel::blockLocation(next[0])) << "'" << nameOf(next[0]) << "' is declared here";
      return error;
    }
    order.memories.push_back(next[0]);
    llvm::erase(left, next[0]);
  }
  for (auto core : accelerator.getBody().getOps<accel::CoreOp>())
    if (hasPath && !paths.onPath.contains(core) && !core.getEntries().contains("reads"))
      return emitError(accel::blockLocation(core), Code::UnreachableMemory)
             << "no path reaches core '" << core.getSymName() << "'";
  for (auto [index, memory] : llvm::enumerate(order.memories))
    order.indexOf[memory] = index;
  for (auto [core, memory] : paths.feeds)
    order.lastBeforeCore[core] = order.indexOf.lookup(memory);
  return order;
}

} // namespace accord
