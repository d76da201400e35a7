"""A transposed convolution as a matrix product and col2im, the usual way by way of a library: all products of the
weights with one position of x are columns, and a kernel adds up those that lie on an output.

`convscope run assets/kernels/col2im.py --trust` judges it; the product is then a plain one of convscope's, no cuBLAS.
"""
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

// columns: [N, Cout, K, L]; a thread an output element.
template <class T>
__global__ void col2im(const T* __restrict__ columns, const T* __restrict__ bias, T* __restrict__ y, int out_channels,
                       int taps, int length, int out_length, int stride, int padding, int dilation) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, co = blockIdx.y;
  const long long row = static_cast<long long>(blockIdx.z) * out_channels + co;
  if (j >= out_length) return;
  T sum = bias ? bias[co] : T(0);
  for (int k = 0; k < taps; k++) {
    const int t = j + padding - k * dilation;
    if (t >= 0 && t % stride == 0 && t / stride < length) sum += columns[(row * taps + k) * length + t / stride];
  }
  y[row * out_length + j] = sum;
}

torch::Tensor conv_transpose1d(torch::Tensor input, torch::Tensor weight, c10::optional<torch::Tensor> bias,
                               int64_t stride, int64_t padding, int64_t output_padding, int64_t dilation) {
  const int64_t in_channels = weight.size(0), out_channels = weight.size(1), taps = weight.size(2);
  const int64_t out_length =
      (input.size(2) - 1) * stride - 2 * padding + dilation * (taps - 1) + output_padding + 1;
  // [Cout·K, Cin] times [N, Cin, L]
  auto columns = at::matmul(weight.view({in_channels, out_channels * taps}).t(), input);
  auto output = torch::empty({input.size(0), out_channels, out_length}, input.options());
  const dim3 blocks((out_length + 127) / 128, out_channels, input.size(0));
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "conv_transpose1d", [&] {
    col2im<<<blocks, 128, 0, c10::cuda::getCurrentCUDAStream()>>>(
        columns.data_ptr<scalar_t>(), bias ? bias->data_ptr<scalar_t>() : nullptr, output.data_ptr<scalar_t>(),
        out_channels, taps, input.size(2), out_length, stride, padding, dilation);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return output;
}
"""

CPP = """torch::Tensor conv_transpose1d(torch::Tensor, torch::Tensor, c10::optional<torch::Tensor>, int64_t, int64_t,
                                        int64_t, int64_t);"""


class ModelNew(torch.nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, bias=False):
        super().__init__()
        self.layer = torch.nn.ConvTranspose1d(in_channels, out_channels, kernel_size, stride, padding,
                                              dilation=dilation, bias=bias)
        self.code = load_inline("convscope_col2im", CPP, CUDA, functions=["conv_transpose1d"])

    def forward(self, x):
        c = self.layer
        return self.code.conv_transpose1d(x, c.weight, c.bias, c.stride[0], c.padding[0], c.output_padding[0],
                                          c.dilation[0])
