#include "lib/launch/Guard.h"
#include "lib/launch/Products.h"
#include "lib/support/documents/JsonParse.h"
#include <algorithm>

namespace accord {

void describeDevices(LaunchLayout::Pool &pool, const std::string &product) {
  const std::vector<Product> known = productsOf(pool.name);
  int64_t reported = 0;
  pool.products.clear();
  for (const Product &one : known) {
    pool.products.push_back(one.name);
    pool.devicesPerUnit = one.devicesPerUnit;
    reported = reported == 0 ? one.memory : std::min(reported, one.memory);
  }
  if (known.empty())
    pool.products = guessedProducts(pool.name);
  if (!product.empty())
    pool.products = {product};
  pool.reported = known.empty() ? pool.memory / 25 * 23 : reported / 100 * 99;
}

GuardExpectation guardOf(const LaunchLayout &shape, size_t pool) {
  const LaunchLayout::Pool &of = shape.pools[pool];
  GuardExpectation expected;
  expected.deviceType = of.name, expected.deviceName = of.deviceName;
  expected.products = of.products;
  expected.memory = of.reported;
  expected.devicesPerServer = of.perNode;
  expected.servers = 0, expected.worldSize = 0;
  for (const LaunchLayout::Pool &one : shape.pools)
    expected.servers += one.nodes, expected.worldSize += one.nodes * one.perNode;
  expected.devicesPerUnit = of.devicesPerUnit;
  expected.isVirtual = shape.isVirtual;
  return expected;
}

Result<GuardExpectation> guardOf(const PlacementPlan &plan, const LaunchOptions &options) {
  ACCORD_TRY(shape, launchLayout(plan));
  ACCORD_TRY(named, describedLayout(std::move(shape), Launcher::Slurm, options));
  return guardOf(named);
}

std::map<std::string, std::string> guardRefusals(llvm::StringRef text) {
  std::map<std::string, std::string> refusals;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    llvm::SmallVector<llvm::StringRef> parts;
    line.split(parts, '\t', 2);
    if (parts.size() != 3 || parts[0] != kGuardMark || parts[1].empty())
      continue;
    std::string sentence = llvm::json::fixUTF8(parts[2]);
    std::ranges::replace_if(sentence, [](char c) { return (c >= 0 && c < ' ') || c == 127; }, ' ');
    refusals.emplace(llvm::json::fixUTF8(parts[1]), std::move(sentence));
  }
  return refusals;
}

void describe(JsonFields &f, GuardExpectation &expected) {
  f.constant("guard", 1, "expected the document of a guard, 1")
      .about("of the plan")
      .field("device_type", expected.deviceType)
      .about("as the scheduler calls it")
      .maybe("device_name", expected.deviceName)
      .about("one of them is in the name that a tool on the node says, as whole words")
      .field("products", expected.products)
      .about("that the tool reports of a device, at least")
      .maybe("memory_bytes", expected.memory)
      .field("devices_per_server", expected.devicesPerServer, kFromOne)
      .field("servers", expected.servers, kFromOne)
      .about("devices of all servers")
      .field("world_size", expected.worldSize, kFromOne)
      .about("devices of the plan in one that the tool counts")
      .maybeIf(expected.devicesPerUnit != 1, "devices_per_unit", expected.devicesPerUnit, NumberRange{0, 1024, true})
      .about("there are no devices: names of the scheduler alone are compared")
      .maybe("virtual", expected.isVirtual);
}

bool isGuard(llvm::StringRef text) {
  auto value = parseJson(text, "guard.json");
  if (!value) {
    llvm::consumeError(value.takeError());
    return false;
  }
  const llvm::json::Object *object = value->getAsObject();
  return object && object->get("guard");
}

Result<GuardExpectation> guardFrom(llvm::StringRef text, const std::string &path) {
  auto read = readJsonDocument<GuardExpectation>(text, path, "guard",
                                                 [](const llvm::json::Value &value, GuardExpectation &expected,
                                                    llvm::json::Path at) { return readDocument(value, expected, at); });
  if (!read)
    return Error{Code::BadPlan, llvm::toString(read.takeError())};
  return std::move(*read);
}

} // namespace accord
