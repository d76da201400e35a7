// The engine process: requests on stdin, answers on stdout (PROTOCOL.md).
#pragma once

namespace convscope {

// Serves until stdin ends. Before anything else the protocol moves to private descriptors and descriptor 1 becomes the
// log, so that a kernel's printf cannot get between frames. Returns the exit code.
int serve_engine();

}  // namespace convscope
