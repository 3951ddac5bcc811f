// A latency model as a document, from which all of its forms can be printed again: certificate/latency.json.
#pragma once
#include "lib/latency/model/LatencyModel.h"
#include "llvm/Support/Error.h"

namespace accord {

constexpr const char *kLatencyCertificate = "certificate/latency.json";

/// The whole model, on few lines.
std::string latencyModelJson(const LatencyModel &model);
/// Reads what `latencyModelJson` writes. Refuses, naming `path`, nodes that do not fit together, and a model without
/// the three outputs, the three first arguments or a sample.
llvm::Expected<LatencyModel> latencyModelFromJson(llvm::StringRef text, llvm::StringRef path);

} // namespace accord
