#include "app/ui/actions.h"

#include <filesystem>

#include "app/ui/app.h"
#include "app/ui/panels/colour_scale.h"
#include "app/ui/panels/explain_guess.h"
#include "app/ui/panels/source_place.h"

namespace convscope::ui {
namespace {

bool always(const App&) { return true; }
bool has_picture(const App& a) { return a.picture() != nullptr; }
constexpr ImGuiKeyChord ctrl = ImGuiMod_Ctrl, shift = ImGuiMod_Shift, alt = ImGuiMod_Alt;

template <int N>
void kernel_number(App& a) {
  a.choose_kernel(N);
}
template <int N>
void reference_number(App& a) {
  a.choose_reference(N);
}
template <int N>
void beside_number(App& a) {
  a.choose_beside(N);
}

template <int... N>
void add_numbers(std::vector<Action>& all, std::integer_sequence<int, N...>) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> v;
    for (int i = 1; i <= 9; i++)
      v.push_back("kernel-" + std::to_string(i)), v.push_back("Kernel " + std::to_string(i)),
          v.push_back("compare-" + std::to_string(i)), v.push_back("Reference " + std::to_string(i) + " beside"),
          v.push_back("beside-" + std::to_string(i)), v.push_back("Kernel " + std::to_string(i) + " beside");
    return v;
  }();
  (all.push_back({names[6 * N].c_str(), names[6 * N + 1].c_str(), "", static_cast<ImGuiKeyChord>(ImGuiKey_1 + N), 0,
                  "The kernel of this number in the list",
                  [](const App& a) { return a.bench().inventory().kernels().size() > N; }, kernel_number<N>, nullptr}),
   ...);
  (all.push_back({names[6 * N + 2].c_str(), names[6 * N + 3].c_str(), "",
                  static_cast<ImGuiKeyChord>(shift | (ImGuiKey_1 + N)), 0,
                  "The reference of this number stands beside the kernel", always, reference_number<N>, nullptr}),
   ...);
  (all.push_back({names[6 * N + 4].c_str(), names[6 * N + 5].c_str(), "",
                  static_cast<ImGuiKeyChord>(alt | (ImGuiKey_1 + N)), 0,
                  "The kernel of this number in the oracle's place, in maps and lines",
                  [](const App& a) { return a.bench().inventory().kernels().size() > N; }, beside_number<N>, nullptr}),
   ...);
}

std::vector<Action> make() {
  std::vector<Action> all = {
      {"open", "Open…", "File", ctrl | ImGuiKey_O, 0,
       "A session, a kernel's .cu or .py file, or a .npy or .npz file as the input", always,
       [](App& a) { a.ask_path(App::PathFor::open); }, nullptr},
      {"open-last", "Open what was there at the last close", "File", 0, 0,
       "The problem, kernel, inputs and view of the last time, saved or not",
       [](const App& a) {
         std::error_code none;
         return !a.last_session().empty() && std::filesystem::exists(a.last_session(), none);
       },
       [](App& a) { a.open(a.last_session()); }, nullptr},
      {"save", "Save session", "File", ctrl | ImGuiKey_S, 0, "Problem, kernel, inputs and view", always,
       [](App& a) { a.save(false); }, nullptr},
      {"save-as", "Save session as…", "File", ctrl | shift | ImGuiKey_S, 0, "Under another name", always,
       [](App& a) { a.save(true); }, nullptr},
      {"save-picture", "Save picture…", "File", ctrl | shift | ImGuiKey_E, 0, "The window as a PNG file", always,
       [](App& a) { a.ask_path(App::PathFor::picture); }, nullptr},
      {"export-pytorch", "Export kernel as a PyTorch module…", "File", 0, 0,
       "A file with a ModelNew that takes the place of ConvTranspose1d for this problem", always,
       [](App& a) { a.ask_path(App::PathFor::pytorch); }, nullptr},
      {"export-cuda", "Export kernel as CUDA C++…", "File", 0, 0,
       "One .cu file: the kernel for this problem and a C function that launches it", always,
       [](App& a) { a.ask_path(App::PathFor::cuda); }, nullptr},
      {"edit-copy", "Edit a copy of the kernel…", "File", ctrl | ImGuiKey_E, 0,
       "The kernel's own text in a file of yours: it becomes the kernel, and is judged anew as you type",
       [](const App& a) { return a.can_copy_kernel(); }, [](App& a) { a.ask_path(App::PathFor::copy); }, nullptr},
      {"close-recording", "Close the recording", "File", 0, 0, "Only what runs here is shown from then on",
       [](const App& a) { return a.bench().recorded().is_open(); }, [](App& a) { a.close_recording(); }, nullptr},
      {"quit", "Quit", "File", ctrl | ImGuiKey_Q, 0, "Close the window", always, [](App& a) { a.quit(); }, nullptr},
      {"undo", "Undo", "Edit", ctrl | ImGuiKey_Z, 0,
       "Take back the last change of problem, kernel, inputs or tolerance", [](const App& a) { return a.can_undo(); },
       [](App& a) { a.undo(); }, nullptr},
      {"redo", "Redo", "Edit", ctrl | shift | ImGuiKey_Z, ctrl | ImGuiKey_Y, "Do it again",
       [](const App& a) { return a.history().can_redo(); }, [](App& a) { a.redo(); }, nullptr},
      {"copy-window", "Copy values of the view", "Edit", ctrl | shift | ImGuiKey_C, 0,
       "The elements that the maps show, as CSV", [](const App& a) { return a.picture() != nullptr; },
       [](App& a) { a.copy_window(); }, nullptr},
      {"copy-verdict", "Copy verdict", "Edit", 0, 0, "The sentence and the evidence as text",
       [](const App& a) { return a.bench().report_of(a.document()) != nullptr; }, [](App& a) { a.copy_verdict(); },
       nullptr},
      {"preferences", "Preferences…", "Edit", ctrl | ImGuiKey_Comma, 0,
       "All that is kept from one start to the next, in one place", always, [](App& a) { a.open_preferences(); },
       nullptr},
      {"run", "Run", "Run", ImGuiKey_F5, 0, "Run the kernel and the oracle again", always, [](App& a) { a.run(); },
       nullptr},
      {"live", "Live", "Run", ImGuiKey_Space, 0, "Run at every change", always, [](App& a) { a.toggle_live(); },
       [](const App& a) { return a.settings().live; }},
      {"show-live", "Live figures instead of recorded ones", "Run", 0, 0,
       "What runs here, while a recording is open that holds it",
       [](const App& a) { return a.bench().recorded().holds(a.document()); }, [](App& a) { a.toggle_recorded(); },
       [](const App& a) { return a.bench().live_shown(); }},
      {"back-to-recorded", "Back to what was recorded", "Run", 0, 0,
       "Sets the problem, the kernel and the inputs to what the recording holds",
       [](const App& a) { return a.bench().recorded().is_open() && !a.bench().recorded().holds(a.document()); },
       [](App& a) { a.back_to_recorded(); }, nullptr},
      {"shorten", "A short piece of the problem", "Run", shift | ImGuiKey_F5, 0,
       "One sequence, short enough for any machine; undo brings the whole one back",
       [](const App& a) { return !(short_piece(a.document()) == a.document().problem); }, [](App& a) { a.shorten(); },
       nullptr},
      {"profile", "Profile", "Run", ImGuiKey_F6, 0, "Counters of one pass, and what limits the kernel",
       [](const App& a) { return !a.bench().runs().running(); }, [](App& a) { a.profile(false); }, nullptr},
      {"profile-full", "Profile with all counters", "Run", shift | ImGuiKey_F6, 0,
       "Every set of counters, in several passes", [](const App& a) { return !a.bench().runs().running(); },
       [](App& a) { a.profile(true); }, nullptr},
      {"keep-measuring", "Keep measuring", "Run", ImGuiKey_F8, 0,
       "One call after the other, with its time and the counters of one pass, until it is stopped", always,
       [](App& a) { a.keep_measuring(); }, [](const App& a) { return a.bench().measuring().monitor().on; }},
      {"xray", "X-ray the index", "Run", ImGuiKey_F9, 0,
       "Which formula the kernel's index follows, and whether it is right for other strides and paddings too",
       [](const App& a) { return a.bench().causes().can_ask(); }, [](App& a) { a.xray(); }, nullptr},
      {"fix", "Look for an edit that makes it right", "Run", ctrl | ImGuiKey_F9, 0,
       "Tries thousands of small edits of the kernel's text, compiles and judges what makes it right",
       [](const App& a) { return a.can_mend(); }, [](App& a) { a.mend(); }, nullptr},
      {"check", "Check other problems", "Run", shift | ImGuiKey_F9, 0,
       "The kernel on a hundred problems that are drawn; the first that fails is made as small as it goes",
       [](const App& a) { return a.bench().checks().now().running || a.bench().runs().report(); },
       [](App& a) { a.check_others(); }, [](const App& a) { return a.bench().checks().now().running; }},
      {"sweep", "Sweep a parameter", "Run", ImGuiKey_F10, 0,
       "The kernel and others at each value of one parameter: where it is right, and how long it takes", always,
       [](App& a) { a.sweep(); }, [](const App& a) { return a.bench().sweeps().now().running; }},
      {"tune", "Look for a faster form", "Run", ctrl | ImGuiKey_F7, 0,
       "Sizes, unrolling and bounds in the kernel file's text are changed; what is right is timed, on a GPU",
       [](const App& a) { return a.can_tune(); }, [](App& a) { a.tune(); },
       [](const App& a) { return a.bench().tunings().now().running; }},
      {"compare", "Compare with another kernel", "Run", ImGuiKey_F7, 0,
       "Times both in turn and counts both: who is faster, and why", always, [](App& a) { a.compare(); }, nullptr},
      {"exchange", "Exchange with what stands beside", "Run", ImGuiKey_X, 0,
       "The kernel becomes what stands beside it, and the other way round",
       [](const App& a) { return a.stands_beside(a.document().compare_with); }, [](App& a) { a.exchange(); }, nullptr},
      {"best-kernel", "Best kernel for this problem", "Run", ImGuiKey_B, 0,
       "What the planner takes for this problem, accuracy and device, and why", always, [](App& a) { a.choose_best(); },
       nullptr},
      {"cancel", "Cancel", "Run", ImGuiKey_Escape, 0, "Stop what the engine does",
       [](const App& a) {
         const Workbench& b = a.bench();
         return b.runs().running() || b.explaining().waits() || b.measuring().waits() || b.measuring().monitor().on ||
                b.beside().waits() || b.sweeps().now().running || b.checks().now().running || b.mending().waits() ||
                b.causes().waits() || b.tunings().now().running;
       },
       [](App& a) { a.cancel(); }, nullptr},
      {"refresh-devices", "Look for devices again", "Run", 0, 0, "Asks the engine what this machine has", always,
       [](App& a) { a.refresh(); }, nullptr},
      {"fit", "Fit", "View", ImGuiKey_F, 0, "Show the whole result", has_picture, [](App& a) { a.fit(); }, nullptr},
      {"zoom-in", "Zoom in", "View", ImGuiKey_Equal, ImGuiKey_KeypadAdd,
       "Closer, around the middle or the selected element", has_picture, [](App& a) { a.zoom(1.6); }, nullptr},
      {"zoom-out", "Zoom out", "View", ImGuiKey_Minus, ImGuiKey_KeypadSubtract, "Further away", has_picture,
       [](App& a) { a.zoom(1 / 1.6); }, nullptr},
      {"view-back", "Back", "View", alt | ImGuiKey_LeftArrow, 0, "The view before",
       [](const App& a) { return a.views().can_back(); }, [](App& a) { a.view_back(); }, nullptr},
      {"view-forward", "Forward", "View", alt | ImGuiKey_RightArrow, 0, "The view after",
       [](const App& a) { return a.views().can_forward(); }, [](App& a) { a.view_forward(); }, nullptr},
      {"next-failing", "Next failing element", "View", ImGuiKey_N, 0, "Select it and zoom to its number", has_picture,
       [](App& a) { a.find_failing(true); }, nullptr},
      {"previous-failing", "Previous failing element", "View", shift | ImGuiKey_N, 0,
       "Select it and zoom to its number", has_picture, [](App& a) { a.find_failing(false); }, nullptr},
      {"next-error", "Next line that does not compile", "View", ImGuiKey_F4, 0, "Of the kernel's file, in its source",
       [](const App& a) {
         const OpenedFile* file = a.bench().files().of(a.document().kernel);
         return file && !file->errors.empty();
       },
       [](App& a) { ask_next_error(), a.apply(ShowPanel{"Source"}); }, nullptr},
      {"left", "Selection left", "", ImGuiKey_LeftArrow, 0, "The element before", has_picture,
       [](App& a) { a.move_selection(0, -1); }, nullptr},
      {"right", "Selection right", "", ImGuiKey_RightArrow, 0, "The element after", has_picture,
       [](App& a) { a.move_selection(0, 1); }, nullptr},
      {"up", "Selection up", "", ImGuiKey_UpArrow, 0, "The channel before", has_picture,
       [](App& a) { a.move_selection(-1, 0); }, nullptr},
      {"down", "Selection down", "", ImGuiKey_DownArrow, 0, "The channel after", has_picture,
       [](App& a) { a.move_selection(1, 0); }, nullptr},
      {"classes", "Polyphase classes", "View", ImGuiKey_C, 0, "Tint positions by (j + p) mod s, hatch structural zeros",
       has_picture, [](App& a) { a.toggle_classes(); }, [](const App& a) { return a.views().now().show_classes; }},
      {"colours-automatic", "Colours: automatic range", "View", ImGuiKey_R, 0,
       "Of all maps: all there is of what the kernel should give, and of its error", has_own_colours,
       take_automatic_colours, nullptr},
      {"colours-visible", "Colours: range of what is visible", "View", shift | ImGuiKey_R, 0,
       "The maps' colours go from the least to the greatest value in the window", has_picture, fit_colours_to_visible,
       nullptr},
      {"colours-half", "Colours: half the range", "View", ImGuiKey_E, 0,
       "What is small comes out; what is large goes to the ends", has_picture, [](App& a) { stretch_colours(a, 0.5); },
       nullptr},
      {"colours-twice", "Colours: twice the range", "View", shift | ImGuiKey_E, 0, "What is large comes back",
       has_picture, [](App& a) { stretch_colours(a, 2); }, nullptr},
      {"scatter", "Explain from the input's side", "View", 0, 0,
       "All outputs that one input goes to, instead of all inputs of one output", has_picture,
       [](App& a) { a.turn_explanation(), a.apply(ShowPanel{"Explain"}); },
       [](const App& a) { return a.views().now().from_input; }},
      {"guess", "Guess what belongs", "View", ImGuiKey_G, 0,
       "The panel Explain asks which inputs belong to an output, or where an input goes, before it tells", has_picture,
       [](App& a) { guess().turn(!guess().is_on()), a.apply(ShowPanel{"Explain"}); },
       [](const App&) { return guess().is_on(); }},
      {"presenter", "Presenter layout", "View", ctrl | ImGuiKey_P, 0,
       "For a stage: large type; maps, verdict and explanation", always, [](App& a) { a.toggle_presenter(); },
       [](const App& a) { return a.settings().presenter; }},
      {"theme", "Light theme", "View", ctrl | ImGuiKey_T, 0, "Dark or light", always, [](App& a) { a.toggle_theme(); },
       [](const App& a) { return a.settings().theme == Settings::Theme::light; }},
      {"colours", "Cividis for values", "View", 0, 0, "Instead of viridis", always, [](App& a) { a.toggle_colours(); },
       [](const App& a) { return a.settings().value_colours == "cividis"; }},
      {"larger", "Larger", "View", ctrl | ImGuiKey_Equal, ctrl | ImGuiKey_KeypadAdd, "Scale of everything, up to 200 %",
       [](const App& a) { return a.settings().scale < 2; }, [](App& a) { a.scale_by(1.1); }, nullptr},
      {"smaller", "Smaller", "View", ctrl | ImGuiKey_Minus, ctrl | ImGuiKey_KeypadSubtract,
       "Scale of everything, down to 75 %", [](const App& a) { return a.settings().scale > 0.75; },
       [](App& a) { a.scale_by(1 / 1.1); }, nullptr},
      {"full-screen", "Full screen", "View", ImGuiKey_F11, 0, "And back", [](const App& a) { return a.has_window(); },
       [](App& a) { a.toggle_full_screen(); }, nullptr},
      {"reset-layout", "Reset layout", "View", 0, 0, "Panels where they were at first", always,
       [](App& a) { a.reset_layout(); }, nullptr},
      {"palette", "Command palette…", "Help", ctrl | shift | ImGuiKey_P, ctrl | ImGuiKey_K,
       "Find an action, a preset, a kernel or a panel by name", always, [](App& a) { a.open_palette(); }, nullptr},
      {"help", "Keys and mouse", "Help", ImGuiKey_F1, 0, "What can be pressed and dragged", always,
       [](App& a) { a.open_help(); }, nullptr},
      {"lesson-next", "Lesson: next step", "Help", ImGuiKey_PageDown, 0, "What the lesson shows next",
       [](const App& a) { return a.can_go_on(); }, [](App& a) { a.go_on(); }, nullptr},
      {"lesson-back", "Lesson: step before", "Help", ImGuiKey_PageUp, 0, "What the lesson showed before",
       [](const App& a) { return a.lesson() && a.lesson_step() > 0; }, [](App& a) { a.show_step(a.lesson_step() - 1); },
       nullptr},
      {"lesson-again", "Lesson: show this step again", "Help", 0, 0, "Problem, kernel and panels as the step has them",
       [](const App& a) { return a.lesson() != nullptr; }, [](App& a) { a.show_step(a.lesson_step()); }, nullptr},
      {"lesson-end", "Lesson: end", "Help", 0, 0, "What is shown stays",
       [](const App& a) { return a.lesson() != nullptr; }, [](App& a) { a.end_lesson(); }, nullptr},
      {"about", "About convscope", "Help", 0, 0, "Version and licences", always, [](App& a) { a.open_about(); },
       nullptr},
  };
  add_numbers(all, std::make_integer_sequence<int, 9>());
  return all;
}

}  // namespace

const std::vector<Action>& actions() {
  static const std::vector<Action> all = make();
  return all;
}

const Action* find_action(const std::string& id) {
  for (const auto& a : actions())
    if (id == a.id) return &a;
  return nullptr;
}

std::string chord_text(ImGuiKeyChord chord) {
  if (!chord) return "";
  std::string text;
  if (chord & ImGuiMod_Ctrl) text += "Ctrl+";
  if (chord & ImGuiMod_Shift) text += "Shift+";
  if (chord & ImGuiMod_Alt) text += "Alt+";
  auto key = static_cast<ImGuiKey>(chord & ~ImGuiMod_Mask_);
  if (key == ImGuiKey_Equal) return text + "+";
  if (key == ImGuiKey_Minus) return text + "-";
  if (key == ImGuiKey_Comma) return text + ",";
  if (key == ImGuiKey_LeftArrow) return text + "Left";
  if (key == ImGuiKey_RightArrow) return text + "Right";
  if (key == ImGuiKey_UpArrow) return text + "Up";
  if (key == ImGuiKey_DownArrow) return text + "Down";
  if (key == ImGuiKey_Escape) return text + "Esc";
  if (key == ImGuiKey_KeypadAdd) return text + "Keypad +";
  if (key == ImGuiKey_KeypadSubtract) return text + "Keypad -";
  return text + ImGui::GetKeyName(key);
}

}  // namespace convscope::ui
