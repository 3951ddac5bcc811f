// plan.json of a cluster follows from its certificate: what it says is held against that.
#include "lib/placement/output/PlacementJson.h"
#include "lib/support/documents/AnswerFile.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include <fmt/format.h>
#include <optional>

using namespace llvm;
namespace accord {

bool isPlacement(StringRef text) {
  auto value = parseJson(text, "plan.json");
  if (!value) {
    consumeError(value.takeError());
    return false;
  }
  const json::Object *object = value->getAsObject();
  return object && object->getString("kind") == StringRef("placement");
}

llvm::Error agrees(const PlacementPlan &plan, StringRef text, StringRef path) {
  if (auto found = differenceFrom({"plan.json", jsonText(toJson(plan))}, text, path.str()))
    return createStringError(inconvertibleErrorCode(), "%s", found->c_str());
  return llvm::Error::success();
}

} // namespace accord
