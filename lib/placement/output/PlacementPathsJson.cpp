// certificate/paths.json: what proves the bound of interleaved configurations.
#include "lib/placement/output/PlacementDocumentCheck.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/support/documents/JsonText.h"

using namespace llvm;
namespace accord {

using Share = PathBound::Share;
using Part = PathBound::Part;

/// [first, second, first, second, …].
template <typename T, typename A, typename B>
static void describePairs(JsonVisitor &v, std::vector<T> &pairs, A T::*first, B T::*second) {
  v.array(
      2 * pairs.size(), "expected pairs of numbers, one behind the other",
      [&](size_t size) { return pairs.resize(size / 2), size % 2 == 0; },
      [&](size_t i, JsonVisitor &number) {
        if (i % 2 == 0)
          visitValue(number, pairs[i / 2].*first);
        else
          visitValue(number, pairs[i / 2].*second);
      });
}
static void describeShares(JsonVisitor &v, std::vector<Share> &shares) { // [index, weight, …]
  describePairs(v, shares, &Share::of, &Share::weight);
}

void describe(JsonFields &f, Part &part) {
  if (f.has("group"))
    part.fork = Part::Split::Group;
  else if (f.has("stage"))
    part.fork = Part::Split::Stage;
  if (part.fork == Part::Split::Group)
    f.field("group", part.of).field("max", part.max);
  else if (part.fork == Part::Split::Stage)
    f.field("stage", part.of);
  else
    f.field("paths", part.paths, describeShares).field("moments", part.moments, describeShares);
}

void describe(JsonFields &f, PathBound &bound) {
  constexpr IntegerRange positive{.min = 1};
  f.field("parallel_config", bound.parallelConfig)
      .field("groups", bound.groups, positive)
      .field("virtual_stages", bound.virtualStages, positive)
      .field("microbatches", bound.microbatches, positive)
      .field("paths", bound.paths,
             [](JsonVisitor &v, PathBound::Path &path) { // [passes, times, …]
               describePairs(v, path, &PathBound::Path::value_type::first, &PathBound::Path::value_type::second);
             })
      .field("parts", bound.parts);
}

static void describePaths(JsonFields &f, std::vector<PathBound> &bounds) {
  int64_t schema = 2;
  f.field("schema", schema, IntegerRange{2, 2})
      .constant("kind", "placement_paths", "expected placement_paths")
      .field("bounds", bounds);
}

std::string placementPaths(const std::vector<PathBound> &paths) {
  return paths.empty() ? "" : jsonLine(toDocument(paths, describePaths)) + "\n";
}

Expected<std::vector<PathBound>> placementPathsFrom(StringRef text, StringRef path) {
  return readCertificate<std::vector<PathBound>>(text, path, "paths", describePaths);
}

} // namespace accord
