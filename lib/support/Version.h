// The version that every document carries.
#pragma once

namespace accord {
inline constexpr const char *kVersion = "0.1.0";
} // namespace accord
