#include "lib/machine/translate/PowerLevels.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/machine/energy/BoardPower.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace accord {

void addLevelsOfDevices(accel::ClusterOp cluster, ArrayRef<accel::AcceleratorOp> accelerators) {
  cluster.walk([&](accel::DeviceOp device) {
    auto own = device->getAttrOfType<ArrayAttr>(kPowerLevelsAttribute);
    for (accel::AcceleratorOp accelerator : accelerators) {
      if (!own || accelerator.getSymName() != device.getAccelerator())
        continue;
      SmallVector<Attribute> all;
      auto named = [&](Attribute level) { return cast<DictionaryAttr>(level).get("name"); };
      if (auto before = accelerator->getAttrOfType<ArrayAttr>(kPowerLevelsAttribute))
        for (Attribute level : before)
          if (llvm::none_of(own, [&](Attribute other) { return named(other) == named(level); }))
            all.push_back(level);
      llvm::append_range(all, own);
      accelerator->setAttr(kPowerLevelsAttribute, ArrayAttr::get(cluster.getContext(), all));
    }
  });
}

std::vector<PowerLevel> powerLevelsOf(accel::AcceleratorOp accelerator) {
  std::vector<PowerLevel> levels;
  auto all = accelerator->getAttrOfType<ArrayAttr>(kPowerLevelsAttribute);
  if (!all)
    return levels;
  for (auto written : all.getAsRange<DictionaryAttr>()) {
    auto name = written.getAs<StringAttr>("name");
    if (!name)
      continue;
    PowerLevel level;
    level.name = name.str();
    auto read = [&](StringRef key, double &into) {
      auto value = written.getAs<accel::QuantityAttr>(key);
      if (!value)
        return;
      into = value.quantity().value.toDouble();
      level.origin.text += (level.origin.text.empty() ? "" : ", ") + key.str() + " = " + value.spelled();
      if (level.origin.source.empty())
        level.origin.source = value.getSource().str();
    };
    read("clock", level.clock);
    level.power = dynamicPowerAt(level.clock);
    read("power", level.power);
    read("cap", level.cap.value);
    if (auto place = written.getAs<LocationAttr>("place"))
      level.origin.location = sourceOf(place);
    levels.push_back(std::move(level));
  }
  return levels;
}

void usePowerLevel(accel::AcceleratorOp accelerator, const PowerLevel &level) {
  Builder builder(accelerator.getContext());
  accelerator->setAttr(
      kPowerLevelAttribute,
      builder.getDictionaryAttr({builder.getNamedAttr("clock", builder.getF64FloatAttr(level.clock)),
                                 builder.getNamedAttr("name", builder.getStringAttr(level.name)),
                                 builder.getNamedAttr("power", builder.getF64FloatAttr(level.power))}));
}

Machine atUsedLevel(accel::AcceleratorOp accelerator, Machine machine) {
  auto used = accelerator->getAttrOfType<DictionaryAttr>(kPowerLevelAttribute);
  auto name = used ? used.getAs<StringAttr>("name") : StringAttr();
  auto clock = used ? used.getAs<FloatAttr>("clock") : FloatAttr(),
       power = used ? used.getAs<FloatAttr>("power") : clock;
  if (!name || !clock || !power || !(clock.getValueAsDouble() > 0) || !(power.getValueAsDouble() > 0))
    return machine;
  PowerLevel level;
  level.name = name.str(), level.clock = clock.getValueAsDouble(), level.power = power.getValueAsDouble();
  for (const PowerLevel &known : powerLevelsOf(accelerator))
    if (known.name == level.name)
      level.origin = known.origin;
  return atLevel(std::move(machine), level);
}

} // namespace accord
