// A kernel's file as a client gives it to an engine: files belong to the client and travel as bytes.
#pragma once
#include <string>
#include <vector>

namespace convscope {

// FILE of "FILE:NAME", which is one of several kernels in a file.
std::string file_of_kernel(const std::string& kernel);

// Its text. Errors: InputError (field `kernel`) when it cannot be read, is no .cu, no text, or larger than 1 MiB.
std::string read_kernel_file(const std::string& file);

// The request that gives it to an engine, and its payload. Its name for EngineClient::lend() is the file's.
std::string kernel_file_request(const std::string& file, const std::string& device);
std::vector<std::byte> as_payload(const std::string& text);

}  // namespace convscope
