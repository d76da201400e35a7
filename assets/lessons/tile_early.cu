// tile.cu with a barrier too few.
//
// convscope: launch tile_early grid=ceil_div(Lout,64),Cout,N block=64 args=x,w,y,Cin,Cout,K,L,Lout,p supports=s==1&&d==1&&g==1&&K<=5&&bias==0
__global__ void tile_early(const float* x, const float* w, float* y, int Cin, int Cout, int K, int L, int Lout, int p) {
  __shared__ float xs[64 + 4];  // 64 outputs take 64 inputs and K - 1 beside them
  __shared__ float ws[5];
  const int t = threadIdx.x, first = blockIdx.x * 64, co = blockIdx.y, n = blockIdx.z;

  float sum = 0;
  for (int ci = 0; ci < Cin; ci++) {
    for (int a = t; a < 64 + K - 1; a += 64) {
      const int i = first + a + p - (K - 1);
      xs[a] = i >= 0 && i < L ? x[(n * Cin + ci) * L + i] : 0.0f;
    }
    if (t < K) ws[t] = w[(ci * Cout + co) * K + t];
    __syncthreads();  // all of it is there
    for (int k = 0; k < K; k++) sum += xs[t + K - 1 - k] * ws[k];
  }
  if (first + t < Lout) y[(n * Cout + co) * Lout + first + t] = sum;
}
