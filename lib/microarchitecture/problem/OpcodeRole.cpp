#include "lib/microarchitecture/problem/Microarchitecture.h"
#include <array>

namespace accord::microarchitecture {
namespace {

struct Row {
  const char *name;
  int32_t arguments;
};
constexpr std::array<Row, kRoles> kRows = {{
    {"none", 0},         {"load", 0},       {"broadcast", 0},  {"store", 1},         {"constant", 0},
    {"move", 1},         {"preload", 1},    {"add", 2},        {"subtract", 2},      {"multiply", 2},
    {"multiply_add", 3}, {"divide", 2},     {"max", 2},        {"min", 2},           {"greater", 2},
    {"equal", 2},        {"exp", 1},        {"log", 1},        {"square_root", 1},   {"tanh", 1},
    {"erf", 1},          {"reduce_add", 1}, {"reduce_max", 1}, {"add_immediate", 1}, {"branch", 2},
}};

} // namespace

const char *name(Role role) { return kRows[size_t(role)].name; }
int32_t argumentsOf(Role role) { return kRows[size_t(role)].arguments; }

std::optional<Role> roleNamed(std::string_view name) {
  for (size_t r = 0; r < kRows.size(); ++r)
    if (name == kRows[r].name)
      return Role(r);
  return std::nullopt;
}

} // namespace accord::microarchitecture
