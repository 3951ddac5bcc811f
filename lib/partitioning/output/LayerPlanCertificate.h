// What proves a plan of profiled layers: the layers as the open format, and the plan by their numbers.
#pragma once
#include "lib/partitioning/problem/LayerGraph.h"
#include "lib/support/documents/AnswerFile.h"

namespace accord {

constexpr const char *kLayerProblemCertificate = "certificate/layers.json";
constexpr const char *kLayerPlanCertificate = "certificate/layer_plan.json";

struct LayerPlanAnswer {
  LayerGraph graph;
  LayerPlan plan;
  bool allowReplicas = true;
};

/// stages.json, its page report.html, and the certificate that both follow from. `kLayerProblemCertificate` may be
/// planned again as it is.
AnswerFiles filesOf(const LayerPlanAnswer &answer);

/// Reads the two files of a certificate. A0901 what is none: stages of layers that there are not are refused, but for
/// that any plan is read.
Result<LayerPlanAnswer, Errors> layerPlanFromCertificate(const std::string &layers, const std::string &plan,
                                                         const std::string &folder);

} // namespace accord
