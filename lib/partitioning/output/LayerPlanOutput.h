// A plan of profiled layers as JSON and for the terminal; and the layers as the open format that describes them.
#pragma once
#include "lib/partitioning/problem/LayerGraph.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/JSON.h"

namespace accord {

/// {"kind": "profiled_layers"}: the document of `layersSchema`.
constexpr const char *kProfiledLayersKind = "profiled_layers";

/// Reads a document of profiled layers. Errors: A0901 what is no such document, with its place.
Result<LayerGraph, Errors> readProfiledLayers(const std::string &text, const std::string &file);
/// All of a graph but source locations; `readProfiledLayers` gives it back.
std::string profiledLayersJson(const LayerGraph &graph);
llvm::json::Value layersSchema();

/// What `accord partition --json` prints of profiled layers.
llvm::json::Value layerPlanJson(const LayerGraph &graph, const LayerPlan &plan);
llvm::json::Value layerPlanSchema();
/// The page of that document.
std::string layerPlanReport(const LayerGraph &graph, const LayerPlan &plan);
/// A line for each stage, then load, bound and gap.
std::string layerPlanText(const LayerGraph &graph, const LayerPlan &plan, const TextStyle &style);

} // namespace accord
