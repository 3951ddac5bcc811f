#include "lib/planning/output/PlanJson.h"
#include "test/fuzz/readers/Documents.h"

void accord::fuzz::readPlan(std::string_view input) {
  readAndWrite(input, planFromJson, [](const Plan &plan) { return toJson(plan); });
}
