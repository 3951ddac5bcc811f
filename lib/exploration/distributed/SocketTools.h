// What both ends of a TCP connection share: options, frames (a length of four bytes, least first,
// then the message), a descriptor that closes itself.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

namespace accord {

class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor &&other) noexcept : number_(other.release()) {}
  Descriptor &operator=(Descriptor &&other) noexcept;
  ~Descriptor() { close(); }
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void close();
  int release();

private:
  int number_ = -1;
};

/// Messages leave at once; the other machine's end is noticed within a minute or so.
void tune(int socket);

/// Longer ones are no messages of ours.
constexpr size_t kMaxMessageBytes = size_t(1) << 28;
std::string framed(const std::string &message);
/// Takes the first whole message out of what was received. `broken`: there is none to come.
std::optional<std::string> unframed(std::string &received, bool &broken);

} // namespace accord
