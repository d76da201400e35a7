// Which file a person asks for in a dialog: what is listed, what it is called, and what is not taken.
#pragma once
#include <string>
#include <vector>

namespace convscope {

enum class PathFor { open, save, picture, pytorch, cuda, copy };  // copy: of the kernel's text, to change it

// What the field begins with. `session`: the one that is open, or "". A recording is what was measured: a session that
// holds it is another file, where whoever saves it works.
std::string first_path(PathFor what, const std::string& session, bool is_recording, const std::string& kernel);

struct FolderEntry {
  std::string name;
  bool is_folder;
  bool operator==(const FolderEntry&) const = default;
};
// Folders first, then the files of the kinds that are meant; by name, no hidden ones. What cannot be read is left out.
std::vector<FolderEntry> folder_entries(const std::string& folder, PathFor what);

struct AskedPath {
  std::string path;       // with the ending by which the file is found again
  bool possible = false;  // it can be opened, or written if the system allows it
  bool replaces = false;  // a file that is there
  std::string words;      // what is to be said of it; "" where it can be seen
};
// What a typed path means. `kernel`: the document's, whose copy has its file's ending.
AskedPath asked_path(PathFor what, const std::string& typed, const std::string& kernel);

}  // namespace convscope
