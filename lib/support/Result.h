// The one way to carry an error: a code of the table, a message and a place, as plain data. A function that can fail
// returns `Result<T>`; the driver prints the error, a pass turns it into an MLIR diagnostic.
#pragma once
#include "lib/support/ErrorCodes.h"
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace accord {

/// A place in a source file; line and column count from 1, and 0 means that there is none.
struct SourceLocation {
  std::string file;
  unsigned line = 0, column = 0;
};

struct Error {
  Code code = Code::InternalError;
  std::string message;
  SourceLocation location = {};
  std::vector<std::pair<SourceLocation, std::string>> notes = {};
  std::string suggestion = {}; ///< for "did you mean '…'?"; empty if there is none
};

using Errors = std::vector<Error>;

/// A value, or why there is none: one error, or for `Result<T, Errors>` all of them. Test it before either is used.
template <class T, class E = Error> class [[nodiscard]] Result {
public:
  /// Holds a default value, so that a vector of results can be made before it is filled.
  Result()
    requires std::is_default_constructible_v<T>
  = default;
  template <class U = T>
    requires(std::is_convertible_v<U &&, T> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, E>)
  Result(U &&value) : content_(std::in_place_index<0>, std::forward<U>(value)) {}
  Result(E error) : content_(std::in_place_index<1>, std::move(error)) {}
  /// One error where several may be returned.
  Result(Error error)
    requires std::is_same_v<E, Errors>
      : content_(std::in_place_index<1>, E{std::move(error)}) {}

  explicit operator bool() const { return content_.index() == 0; }
  T &operator*() & { return std::get<0>(content_); }
  const T &operator*() const & { return std::get<0>(content_); }
  T &&operator*() && { return std::get<0>(std::move(content_)); }
  T *operator->() { return &std::get<0>(content_); }
  const T *operator->() const { return &std::get<0>(content_); }

  /// The value, or null.
  T *get() { return std::get_if<0>(&content_); }
  const T *get() const { return std::get_if<0>(&content_); }

  E &error() & { return std::get<1>(content_); }
  const E &error() const & { return std::get<1>(content_); }
  E error() && { return std::get<1>(std::move(content_)); }
  /// The error, or null.
  E *getError() { return std::get_if<1>(&content_); }
  const E *getError() const { return std::get_if<1>(&content_); }
  /// Moves the error out, to be returned by the caller.
  E takeError() { return std::get<1>(std::move(content_)); }

private:
  std::variant<T, E> content_;
};

/// Nothing, or why something could not be done.
template <> class [[nodiscard]] Result<void, Error> {
public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}

  explicit operator bool() const { return !failed_; }
  Error &error() { return error_; }
  const Error &error() const { return error_; }
  Error takeError() { return std::move(error_); }

private:
  Error error_;
  bool failed_ = false;
};

/// `ACCORD_TRY(machine, machineFrom(op));` declares `machine` as the value of a result, or returns its error.
#define ACCORD_TRY(name, ...)                                                                                          \
  auto name##OrError = (__VA_ARGS__);                                                                                  \
  if (!name##OrError)                                                                                                  \
    return name##OrError.takeError();                                                                                  \
  auto &name = *name##OrError

} // namespace accord
