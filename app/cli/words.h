// What stands on the command line, as files: what a command reads, it must not write, and may watch.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace convscope {

// The words behind the program's name; kept by main(), for what looks at the whole line.
void keep_words(std::vector<std::string> words);

// Files that the kept words name as what is read: kernels' (mine.cu, mine.cu:NAME), recordings by path or name,
// sessions, and values. Whether they are there is not asked. What an option or a verb writes is not among them.
std::vector<std::filesystem::path> files_to_read();
// Those of them that are kernels'.
std::vector<std::string> kernel_files_to_read();

}  // namespace convscope
