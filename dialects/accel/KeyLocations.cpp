#include "dialects/accel/KeyLocations.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace accord::accel {

Location withKeyLocations(Location block, ArrayRef<std::pair<StringRef, Location>> keys) {
  if (keys.empty())
    return block;
  NamedAttrList list;
  for (auto &[key, location] : keys)
    list.set(key, LocationAttr(location));
  return FusedLoc::get(block.getContext(), {block}, list.getDictionary(block.getContext()));
}

static FusedLoc keyed(Operation *operation) {
  auto fused = dyn_cast<FusedLoc>(operation->getLoc());
  return fused && isa_and_nonnull<DictionaryAttr>(fused.getMetadata()) ? fused : FusedLoc();
}

Location locationOf(Operation *operation, StringRef key) {
  if (FusedLoc fused = keyed(operation))
    if (auto location = cast<DictionaryAttr>(fused.getMetadata()).getAs<LocationAttr>(key))
      return location;
  return blockLocation(operation);
}

Location blockLocation(Operation *operation) {
  if (FusedLoc fused = keyed(operation); fused && !fused.getLocations().empty())
    return fused.getLocations().front();
  return operation->getLoc();
}

} // namespace accord::accel
