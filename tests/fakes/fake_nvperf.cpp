// Only has to be there.
extern "C" __attribute__((visibility("default"))) int fake_nvperf() { return 1; }
