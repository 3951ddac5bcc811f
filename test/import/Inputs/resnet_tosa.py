# ResNet-18 as TOSA text: channels last, batch normalization as a factor and a summand of each channel.
lines, count = [], 0


def emit(text):
    global count
    count += 1
    lines.append(f"  %v{count} = {text}")
    return f"%v{count}"


def tensor(*shape):
    return "tensor<" + "x".join(map(str, shape)) + "xf32>"


def const(*shape):
    return emit(f'"tosa.const"() {{values = dense_resource<w{count}> : {tensor(*shape)}}} : () -> {tensor(*shape)}')


def conv(x, size, inputs, outputs, kernel, stride):
    pad, w = kernel // 2, const(outputs, kernel, kernel, inputs)
    # The end is padded only as far as it is read: the extent divides exactly.
    end = pad - (size + 2 * pad - kernel) % stride
    out = (size + pad + end - kernel) // stride + 1
    cut = 0
    if end < 0:
        cut, end = -end, 0
    if cut:
        rest = size - cut
        start = emit("tosa.const_shape {values = dense<0> : tensor<4xindex>} : () -> !tosa.shape<4>")
        extent = emit(f"tosa.const_shape {{values = dense<[1, {rest}, {rest}, {inputs}]> : tensor<4xindex>}} : () -> !tosa.shape<4>")
        x = emit(f"tosa.slice {x}, {start}, {extent} : ({tensor(1, size, size, inputs)}, !tosa.shape<4>, !tosa.shape<4>) -> {tensor(1, rest, rest, inputs)}")
        size = rest
    y = emit(f"tosa.conv2d {x}, {w}, %none{outputs}, %zp, %zp {{acc_type = f32, dilation = array<i64: 1, 1>, "
             f"pad = array<i64: {pad}, {end}, {pad}, {end}>, stride = array<i64: {stride}, {stride}>}} : "
             f"({tensor(1, size, size, inputs)}, {tensor(outputs, kernel, kernel, inputs)}, {tensor(outputs)}, tensor<1xf32>, tensor<1xf32>) -> {tensor(1, out, out, outputs)}")
    full, channel = tensor(1, out, out, outputs), tensor(1, 1, 1, outputs)
    y = emit(f"tosa.mul {y}, {const(1, 1, 1, outputs)}, %shift : ({full}, {channel}, tensor<1xi8>) -> {full}")
    return emit(f"tosa.add {y}, {const(1, 1, 1, outputs)} : ({full}, {channel}) -> {full}"), out


def relu(x, *shape):
    return emit(f"tosa.clamp {x} {{min_val = 0.0 : f32, max_val = 3.4028235E+38 : f32}} : ({tensor(*shape)}) -> {tensor(*shape)}")


h, size = conv("%x", 224, 3, 64, 7, 2)
h = relu(h, 1, size, size, 64)
h = emit(f"tosa.max_pool2d {h} {{kernel = array<i64: 3, 3>, pad = array<i64: 1, 0, 1, 0>, stride = array<i64: 2, 2>}} : ({tensor(1, 112, 112, 64)}) -> {tensor(1, 56, 56, 64)}")
size, channels = 56, 64
for outputs in (64, 128, 256, 512):
    for block in (0, 1):
        stride = 2 if block == 0 and outputs > 64 else 1
        r, out = conv(h, size, channels, outputs, 3, stride)
        r, _ = conv(relu(r, 1, out, out, outputs), out, outputs, outputs, 3, 1)
        if stride == 2:
            h, _ = conv(h, size, channels, outputs, 1, 2)
        full = tensor(1, out, out, outputs)
        h = relu(emit(f"tosa.add {r}, {h} : ({full}, {full}) -> {full}"), 1, out, out, outputs)
        size, channels = out, outputs
h = emit(f"tosa.reduce_sum {h} {{axis = 1 : i32}} : ({tensor(1, 7, 7, 512)}) -> {tensor(1, 1, 7, 512)}")
h = emit(f"tosa.reduce_sum {h} {{axis = 2 : i32}} : ({tensor(1, 1, 7, 512)}) -> {tensor(1, 1, 1, 512)}")
n = emit('"tosa.const"() {values = dense<0.0204081628> : tensor<1x1x1x1xf32>} : () -> tensor<1x1x1x1xf32>')
h = emit(f"tosa.mul {h}, {n}, %shift : ({tensor(1, 1, 1, 512)}, tensor<1x1x1x1xf32>, tensor<1xi8>) -> {tensor(1, 1, 1, 512)}")
shape = emit("tosa.const_shape {values = dense<[1, 1, 512]> : tensor<3xindex>} : () -> !tosa.shape<3>")
h = emit(f"tosa.reshape {h}, {shape} : ({tensor(1, 1, 1, 512)}, !tosa.shape<3>) -> {tensor(1, 1, 512)}")
h = emit(f"tosa.matmul {h}, {const(1, 512, 1000)}, %zp, %zp : ({tensor(1, 1, 512)}, {tensor(1, 512, 1000)}, tensor<1xf32>, tensor<1xf32>) -> {tensor(1, 1, 1000)}")
h = emit(f"tosa.add {h}, {const(1, 1, 1000)} : ({tensor(1, 1, 1000)}, {tensor(1, 1, 1000)}) -> {tensor(1, 1, 1000)}")
print(f"func.func @resnet18(%x: {tensor(1, 224, 224, 3)}) -> {tensor(1, 1, 1000)} {{")
print('  %zp = "tosa.const"() {values = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>')
print('  %shift = "tosa.const"() {values = dense<0> : tensor<1xi8>} : () -> tensor<1xi8>')
for c in (64, 128, 256, 512):
    print(f'  %none{c} = "tosa.const"() {{values = dense<0.0> : {tensor(c)}}} : () -> {tensor(c)}')
print("\n".join(lines))
print(f"  return {h} : {tensor(1, 1, 1000)}\n}}")
