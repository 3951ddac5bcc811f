// Where the files of the repository lie, whatever the current folder. A function and no macro, so that checkouts in
// different folders compile the same and share what ccache keeps.
#pragma once
#include <string>

namespace accord {

/// The path of a file or a folder, from the root of the checkout: sourcePath("lib/catalog"). An empty one is the root.
std::string sourcePath(const std::string &inside);

} // namespace accord
