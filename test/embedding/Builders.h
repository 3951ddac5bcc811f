// What Embedded.cpp runs of Builders.cpp.
#pragma once
#include <string>

/// Prints what is wrong, and returns an exit status. `examples`: the folder of the examples.
int tryBuilders(const std::string &examples);
