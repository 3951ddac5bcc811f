#include "onnx.pb.h"
#include "test/fuzz/readers/Mutation.h"

namespace accord::fuzz {

namespace {

/// Names of operators begin with a capital letter, those of attributes do not.
std::vector<std::string> wordsThat(const Corpus &material, bool capital) {
  std::vector<std::string> words;
  for (const std::string &word : material.words)
    if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string::npos &&
        (word[0] >= 'A' && word[0] <= 'Z') == capital)
      words.push_back(word);
  return words;
}

class OnnxMutation {
public:
  OnnxMutation(Random &random, const Corpus &material, onnx::ModelProto &model)
      : random(random), material(material), graph(*model.mutable_graph()), model(model) {
    for (const auto &input : graph.input())
      values.push_back(input.name());
    for (const auto &constant : graph.initializer())
      values.push_back(constant.name());
    for (const auto &node : graph.node())
      values.insert(values.end(), node.output().begin(), node.output().end());
    values.emplace_back();
  }

  void change() {
    size_t what = random.below(20);
    if (what < 13 && graph.node_size())
      changeNode(*graph.mutable_node(random.below(graph.node_size())), what);
    else if (what < 16 && graph.initializer_size())
      changeTensor(*graph.mutable_initializer(random.below(graph.initializer_size())));
    else if (what < 18 && graph.input_size())
      changeShape(*graph.mutable_input(random.below(graph.input_size())));
    else
      changeGraph();
  }

private:
  int64_t number() {
    static const std::vector<int64_t> edges = {0,
                                               1,
                                               -1,
                                               2,
                                               -2,
                                               3,
                                               4,
                                               5,
                                               8,
                                               12,
                                               16,
                                               1 << 20,
                                               1LL << 40,
                                               std::numeric_limits<int64_t>::max(),
                                               std::numeric_limits<int64_t>::min()};
    return random.percent(85) ? edges[random.below(9)] : random.pick(edges);
  }

  void changeNode(onnx::NodeProto &node, size_t what) {
    static const std::vector<std::string> operators = wordsThat(material, true);
    switch (what) {
    case 0:
    case 1:
    case 2:
      return node.set_op_type(random.pick(operators));
    case 3:
    case 4:
      if (node.input_size())
        return node.set_input(random.below(node.input_size()), random.pick(values));
      [[fallthrough]];
    case 5:
      return node.add_input(random.pick(values));
    case 6:
      if (node.input_size())
        node.mutable_input()->RemoveLast();
      return;
    case 7:
      return node.add_output(random.percent(50) ? random.pick(values) : "fresh" + std::to_string(random.below(4)));
    case 8:
      if (node.attribute_size())
        node.mutable_attribute()->RemoveLast();
      return;
    case 9:
    case 10:
      return changeAttribute(*node.add_attribute(), true);
    default:
      if (node.attribute_size())
        changeAttribute(*node.mutable_attribute(random.below(node.attribute_size())), false);
    }
  }

  void changeAttribute(onnx::AttributeProto &attribute, bool fresh) {
    static const std::vector<std::string> names = wordsThat(material, false);
    static const std::vector<std::string> capitals = wordsThat(material, true);
    if (fresh || random.percent(10))
      attribute.set_name(random.pick(names));
    if (fresh || random.percent(15))
      attribute.set_type(std::vector{onnx::AttributeProto::INT, onnx::AttributeProto::INTS, onnx::AttributeProto::FLOAT,
                                     onnx::AttributeProto::STRING, onnx::AttributeProto::TENSOR}[random.below(5)]);
    switch (attribute.type()) {
    case onnx::AttributeProto::INTS:
      if (!attribute.ints_size() || random.percent(30))
        attribute.add_ints(number());
      else if (random.percent(20))
        attribute.mutable_ints()->RemoveLast();
      else
        attribute.set_ints(random.below(attribute.ints_size()), number());
      break;
    case onnx::AttributeProto::FLOAT:
      attribute.set_f(random.percent(50) ? number() : 0.5f);
      break;
    case onnx::AttributeProto::STRING:
      attribute.set_s(random.pick(random.percent(50) ? names : capitals));
      break;
    case onnx::AttributeProto::TENSOR:
      changeTensor(*attribute.mutable_t());
      break;
    default:
      attribute.set_i(number());
    }
  }

  void changeTensor(onnx::TensorProto &tensor) {
    switch (random.below(6)) {
    case 0:
      tensor.add_dims(number());
      break;
    case 1:
      if (tensor.dims_size())
        tensor.mutable_dims()->RemoveLast();
      break;
    case 2:
      if (tensor.dims_size())
        tensor.set_dims(random.below(tensor.dims_size()), number());
      break;
    case 3: // another type, by its number in the format
      tensor.set_data_type(random.below(18));
      break;
    case 4:
      tensor.clear_raw_data();
      tensor.add_int64_data(number());
      tensor.add_int32_data(number() & 0xffff);
      tensor.add_float_data(number());
      break;
    default:
      if (std::string *raw = tensor.mutable_raw_data(); raw->size() >= 8 && random.percent(70)) {
        int64_t other = number();
        raw->replace(random.below(raw->size() / 8) * 8, 8, reinterpret_cast<const char *>(&other), 8);
      } else {
        raw->append(random.percent(50) ? 8 : 4, char(random.below(4)));
      }
    }
  }

  void changeShape(onnx::ValueInfoProto &value) {
    auto &shape = *value.mutable_type()->mutable_tensor_type()->mutable_shape();
    if (!shape.dim_size() || random.percent(20))
      shape.add_dim()->set_dim_value(number());
    else if (random.percent(20))
      shape.mutable_dim()->RemoveLast();
    else if (auto &dim = *shape.mutable_dim(random.below(shape.dim_size())); random.percent(40))
      dim.set_dim_param(random.percent(50) ? "N" : "length");
    else
      dim.set_dim_value(number());
    if (random.percent(10))
      value.mutable_type()->mutable_tensor_type()->set_elem_type(random.below(18));
  }

  void changeGraph() {
    switch (random.below(5)) {
    case 0: // another node, that reads what there is
      if (graph.node_size() && graph.node_size() < 64) {
        onnx::NodeProto &node = *graph.add_node();
        node = graph.node(random.below(graph.node_size() - 1));
        for (std::string &output : *node.mutable_output()) {
          output = "made" + std::to_string(graph.node_size());
          values.push_back(output);
        }
      }
      break;
    case 1:
      if (graph.node_size())
        graph.mutable_node()->DeleteSubrange(random.below(graph.node_size()), 1);
      break;
    case 2:
      if (graph.node_size())
        graph.mutable_node()->SwapElements(random.below(graph.node_size()), random.below(graph.node_size()));
      break;
    case 3:
      if (graph.output_size())
        graph.mutable_output(random.below(graph.output_size()))->set_name(random.pick(values));
      else
        graph.add_output()->set_name(random.pick(values));
      break;
    default:
      if (model.opset_import_size())
        model.mutable_opset_import(0)->set_version(random.below(25));
    }
  }

  Random &random;
  const Corpus &material;
  onnx::GraphProto &graph;
  onnx::ModelProto &model;
  std::vector<std::string> values; ///< names, and none
};

} // namespace

std::string mutateOnnx(Random &random, const Corpus &material, std::string_view input) {
  onnx::ModelProto model;
  if (!model.ParseFromArray(input.data(), int(input.size())))
    return "";
  OnnxMutation mutation(random, material, model);
  for (size_t changes = 1 + random.below(4); changes--;)
    mutation.change();
  return model.SerializeAsString();
}

} // namespace accord::fuzz
