"""A PyTorch extension in one Python file, as KernelBench has them: CUDA source in a string, and a model that uses it.

`convscope run assets/kernels/extension.py --trust` calls the C++ function for the problem that is asked, with tensors
that have shapes and no values; the kernels that it launches are judged. Lines are those of this file.
"""
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

// A thread an output element; blocks of 128 along a row.
template <class T>
__global__ void up(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ bias, T* __restrict__ y,
                   int in_channels, int out_channels, int taps, int length, int out_length, int stride, int padding,
                   int dilation, int groups) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, co = blockIdx.y;
  const long long n = blockIdx.z;
  if (j >= out_length) return;
  const int in_group = in_channels / groups, out_group = out_channels / groups, first = co / out_group * in_group;
  T sum = bias ? bias[co] : T(0);
  for (int k = 0; k < taps; k++) {
    const int t = j + padding - k * dilation;
    if (t < 0 || t % stride != 0 || t / stride >= length) continue;
    for (int q = 0; q < in_group; q++)
      sum += x[(n * in_channels + first + q) * length + t / stride] *
             w[(static_cast<long long>(first + q) * out_group + co % out_group) * taps + k];
  }
  y[(n * out_channels + co) * out_length + j] = sum;
}

torch::Tensor conv_transpose1d(torch::Tensor input, torch::Tensor weight, c10::optional<torch::Tensor> bias,
                               int64_t stride, int64_t padding, int64_t output_padding, int64_t groups,
                               int64_t dilation) {
  TORCH_CHECK(input.dim() == 3 && weight.dim() == 3, "input and weight have three dimensions");
  const int64_t out_channels = weight.size(1) * groups, taps = weight.size(2);
  const int64_t out_length =
      (input.size(2) - 1) * stride - 2 * padding + dilation * (taps - 1) + output_padding + 1;
  auto output = torch::empty({input.size(0), out_channels, out_length}, input.options());
  const dim3 blocks((out_length + 127) / 128, out_channels, input.size(0));
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "conv_transpose1d", [&] {
    up<scalar_t><<<blocks, 128, 0, c10::cuda::getCurrentCUDAStream()>>>(
        input.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>(), bias ? bias->data_ptr<scalar_t>() : nullptr,
        output.data_ptr<scalar_t>(), input.size(1), out_channels, taps, input.size(2), out_length, stride, padding,
        dilation, groups);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return output;
}
"""

CPP = """torch::Tensor conv_transpose1d(torch::Tensor, torch::Tensor, c10::optional<torch::Tensor>, int64_t, int64_t,
                                        int64_t, int64_t, int64_t);"""


class ModelNew(torch.nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1,
                 bias=False, dilation=1):
        super().__init__()
        self.layer = torch.nn.ConvTranspose1d(in_channels, out_channels, kernel_size, stride, padding, output_padding,
                                              groups, bias, dilation)
        self.op = load_inline("conv_transpose1d", CPP, CUDA, functions=["conv_transpose1d"])

    def forward(self, x):
        layer = self.layer
        return self.op.conv_transpose1d(x, layer.weight, layer.bias, layer.stride[0], layer.padding[0],
                                        layer.output_padding[0], layer.groups, layer.dilation[0])
