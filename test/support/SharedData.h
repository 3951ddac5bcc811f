// Inputs of others, which are not part of the repository.
#pragma once
#include "test/support/SourcePath.h"
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace accord::testing {

/// A folder of theirs, in $ACCORD_DATA or in shared/data beside this checkout or above it; empty if
/// it is in none.
inline std::filesystem::path sharedData(const char *folder) {
  std::vector<std::filesystem::path> places;
  if (const char *data = std::getenv("ACCORD_DATA"))
    places.emplace_back(data);
  std::filesystem::path up = accord::sourcePath("");
  for (; up != up.parent_path(); up = up.parent_path())
    places.push_back(up.parent_path() / "shared" / "data");
  for (const auto &place : places)
    if (std::filesystem::is_directory(place / folder))
      return place / folder;
  return {};
}

/// Why a test that needs Pollux' data is left out.
inline constexpr const char *kNoPollux = "no data of Pollux beside the checkout or in ACCORD_DATA";

} // namespace accord::testing
