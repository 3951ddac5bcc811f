#include "lib/chakra/file/ChakraFile.h"
#include "chakra.pb.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

namespace accord::chakra {
namespace {

namespace proto = accord_chakra;
using google::protobuf::io::CodedInputStream;

constexpr uint32_t kLargestMessage = uint32_t(64) << 20;
constexpr const char *kVersion = "0.0.4"; ///< of the format

void append(std::string &out, const google::protobuf::MessageLite &message) {
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.WriteVarint32(message.ByteSizeLong());
  message.SerializeToCodedStream(&coded);
}

proto::Attribute &add(proto::Node &node, const char *name) {
  proto::Attribute &attribute = *node.add_attr();
  attribute.set_name(name);
  return attribute;
}

uint64_t micros(double seconds) { return static_cast<uint64_t>(std::llround(seconds * 1e6)); }

proto::Node messageOf(const Node &node) {
  proto::Node made;
  made.set_id(node.id);
  made.set_name(node.name);
  made.set_type(static_cast<proto::NodeType>(node.kind));
  for (uint64_t id : node.controlDependences)
    made.add_ctrl_deps(id);
  for (uint64_t id : node.dataDependences)
    made.add_data_deps(id);
  made.set_start_time_micros(micros(node.start));
  made.set_duration_micros(micros(node.start + node.seconds) - micros(node.start));
  add(made, "is_cpu_op").set_bool_val(false);
  switch (node.kind) {
  case NodeKind::Compute:
    add(made, "num_ops").set_int64_val(node.flops);
    add(made, "tensor_size").set_uint64_val(node.bytes);
    add(made, "accord_result_bytes").set_int64_val(node.resultBytes);
    break;
  case NodeKind::MemoryLoad:
  case NodeKind::MemoryStore:
    add(made, "tensor_size").set_uint64_val(node.bytes);
    break;
  case NodeKind::Collective:
    add(made, "comm_type").set_int64_val(static_cast<int64_t>(node.collective));
    add(made, "comm_size").set_int64_val(node.bytes);
    if (!node.group.empty())
      add(made, "pg_name").set_string_val(node.group);
    break;
  case NodeKind::Send:
  case NodeKind::Receive:
    add(made, "comm_size").set_int64_val(node.bytes);
    add(made, "comm_src").set_int32_val(node.from);
    add(made, "comm_dst").set_int32_val(node.to);
    add(made, "comm_tag").set_int32_val(node.tag);
    break;
  default:
    break;
  }
  add(made, "accord_seconds").set_double_val(node.seconds);
  if (!node.phase.empty())
    add(made, "accord_phase").set_string_val(node.phase);
  return made;
}

/// A whole number of whatever type the writer chose; numbers beyond 2^63 as the largest.
int64_t wholeOf(const proto::Attribute &attribute) {
  switch (attribute.value_case()) {
  case proto::Attribute::kInt32Val:
    return attribute.int32_val();
  case proto::Attribute::kInt64Val:
    return attribute.int64_val();
  case proto::Attribute::kUint32Val:
    return attribute.uint32_val();
  case proto::Attribute::kUint64Val:
    return static_cast<int64_t>(std::min<uint64_t>(attribute.uint64_val(), INT64_MAX));
  default:
    return -1;
  }
}

Node nodeOf(const proto::Node &from) {
  Node node;
  node.id = from.id();
  node.name = from.name();
  node.kind = from.type() > 0 && from.type() < static_cast<int>(kNodeKinds) ? static_cast<NodeKind>(from.type())
                                                                            : NodeKind::Invalid;
  node.dataDependences.assign(from.data_deps().begin(), from.data_deps().end());
  node.controlDependences.assign(from.ctrl_deps().begin(), from.ctrl_deps().end());
  node.start = static_cast<double>(from.start_time_micros()) * 1e-6;
  node.seconds = static_cast<double>(from.duration_micros()) * 1e-6;
  for (const proto::Attribute &attribute : from.attr()) {
    const llvm::StringRef name = attribute.name();
    if (name == "num_ops")
      node.flops = wholeOf(attribute);
    else if (name == "tensor_size" || name == "comm_size")
      node.bytes = wholeOf(attribute);
    else if (name == "accord_result_bytes")
      node.resultBytes = wholeOf(attribute);
    else if (name == "accord_seconds" && attribute.value_case() == proto::Attribute::kDoubleVal)
      node.seconds = attribute.double_val();
    else if (name == "accord_phase")
      node.phase = attribute.string_val();
    else if (name == "pg_name")
      node.group = attribute.string_val();
    else if (name == "comm_src")
      node.from = static_cast<int32_t>(wholeOf(attribute));
    else if (name == "comm_dst")
      node.to = static_cast<int32_t>(wholeOf(attribute));
    else if (name == "comm_tag")
      node.tag = static_cast<int32_t>(wholeOf(attribute));
    else if (name == "comm_type") {
      const int64_t kind = wholeOf(attribute);
      if (kind < 0 || kind >= static_cast<int64_t>(kCollectiveKinds))
        node.kind = NodeKind::Invalid;
      else
        node.collective = static_cast<CollectiveKind>(kind);
    }
  }
  return node;
}

} // namespace

std::string toBytes(const ExecutionTrace &trace) {
  std::string out;
  proto::GlobalMetadata about;
  about.set_version(kVersion);
  append(out, about);
  for (const Node &node : trace.nodes)
    append(out, messageOf(node));
  return out;
}

Result<ExecutionTrace, Errors> readTrace(const std::string &path) {
  auto fail = [&](Code code, const std::string &message) { return Error{code, message, {path, 0, 0}, {}, ""}; };
  llvm::sys::fs::file_status status;
  std::error_code error = llvm::sys::fs::status(path, status);
  if (!error && status.type() != llvm::sys::fs::file_type::regular_file)
    return fail(Code::CannotRead, fmt::format("cannot read '{}': it is no regular file", path));
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (error || !buffer)
    return fail(Code::CannotRead, fmt::format("cannot read '{}': {}", path,
                                              llvm::StringRef((error ? error : buffer.getError()).message()).lower()));
  google::protobuf::LogSilencer quiet;
  const char *at = (*buffer)->getBufferStart(), *end = (*buffer)->getBufferEnd();
  ExecutionTrace trace;
  size_t messages = 0;
  while (at < end) {
    const auto where = at - (*buffer)->getBufferStart();
    // A message at a time, since protobuf counts in 31 bits.
    const int window = static_cast<int>(std::min<ptrdiff_t>(end - at, 16));
    CodedInputStream head(reinterpret_cast<const uint8_t *>(at), window);
    uint32_t size = 0;
    if (!head.ReadVarint32(&size))
      return fail(
          Code::SyntaxError,
          fmt::format("'{}': no length of a message at byte {}: it is no execution trace, or cut short", path, where));
    at += head.CurrentPosition();
    if (size > kLargestMessage)
      return fail(messages == 0 ? Code::SyntaxError : Code::FileTooLarge,
                  fmt::format("'{}': a message of {} bytes at byte {}: it is no execution trace", path, size, where));
    if (end - at < static_cast<ptrdiff_t>(size))
      return fail(
          Code::SyntaxError,
          fmt::format(
              "'{}': the message at byte {} has {} bytes, and {} are left: it is no execution trace, or cut short",
              path, where, size, end - at));
    bool good;
    if (messages == 0) {
      proto::GlobalMetadata about;
      good = about.ParseFromArray(at, static_cast<int>(size));
    } else {
      proto::Node node;
      good = node.ParseFromArray(at, static_cast<int>(size));
      if (good)
        trace.nodes.push_back(nodeOf(node));
    }
    if (!good)
      return fail(
          Code::SyntaxError,
          fmt::format("'{}': the message at byte {} is damaged: it is no execution trace of Chakra", path, where));
    at += size;
    ++messages;
  }
  if (trace.nodes.empty())
    return fail(Code::SyntaxError, fmt::format("'{}': it has no node: it is no execution trace of Chakra", path));
  if (Errors wrong = check(trace, path); !wrong.empty())
    return wrong;
  return trace;
}

} // namespace accord::chakra
