// A value, or the reason why there is none: a stable code, a message, and what was probably meant.
#pragma once
#include "lib/support/ErrorCodes.h"
#include <string>
#include <utility>
#include <variant>

namespace accord {

struct Problem {
  Code code;
  std::string message;
  std::string suggestion; ///< for "did you mean '…'?"; empty if none
};

template <class T> class Checked {
public:
  Checked(T value) : content(std::move(value)) {}
  Checked(Problem problem) : content(std::move(problem)) {}
  explicit operator bool() const { return std::holds_alternative<T>(content); }
  const T &operator*() const { return std::get<T>(content); }
  T &operator*() { return std::get<T>(content); }
  const T *operator->() const { return &std::get<T>(content); }
  const Problem &problem() const { return std::get<Problem>(content); }

private:
  std::variant<T, Problem> content;
};

} // namespace accord
