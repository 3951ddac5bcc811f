// All passes of Accord, for tools and plugins.
#pragma once
namespace accord {
void registerAllPasses();
} // namespace accord
