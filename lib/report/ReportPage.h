// The parts of the pages, embedded when Accord is built, put together.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace accord {

enum class Page : uint8_t {
  OneDevice,
  Placement,
  Mining,
  Sparsity,
  Ensemble,
  Jobs,
  Microarchitecture,
  Cores,
  Comparison,
  Difference,
  ClusterComparison,
  Schedule,
  Estimate,
  Partition,
  Layers,
  Tuning,
  Simulation,
};
/// The page of a document, whose SHA-256 it states. `data` goes in last: nothing in it can then be mistaken for a mark.
/// `model`: the latency model as JavaScript (without "<" in its texts), which sliders run; empty: there are none.
std::string pageOf(Page page, llvm::StringRef title, llvm::StringRef document, const llvm::json::Value &data,
                   llvm::StringRef model = {});

/// JSON made safe inside <script>: "<", ">", "&", U+2028 and U+2029 as \u escapes.
std::string escapeForScript(llvm::StringRef json);

} // namespace accord
