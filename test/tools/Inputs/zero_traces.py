"""Zeros by channel of a layer of ResNet-18 that has 64 channels and no window: more in later channels."""
print("layer,channel,zeros,count")
for channel in range(64):
    print(f"resnet_features.basic_block_2.conv_bn_2.conv,{channel},0,{100 - channel}")
    print(f"resnet_features.basic_block_2.conv_bn_2.conv,{channel},1,{channel + 1}")
