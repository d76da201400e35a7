#include "kernels/planner/reserved_names.h"

#include <algorithm>
#include <cctype>

namespace convscope {
namespace {

// The keywords of C++20 and its operators that are words ([lex.key], en.cppreference.com/w/cpp/keyword), what C has
// beside them, and two names that a program may not give either.
constexpr std::string_view keywords =
    " "
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class "
    "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
    "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline "
    "int long main mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
    "register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast std "
    "struct switch template this thread_local throw true try typedef typeid typename typeof union unsigned using "
    "virtual void volatile wchar_t while xor xor_eq ";

// ISO C's library (C17, clause 7), but for mathematics.
constexpr std::string_view c_library =
    " "
    "abort abs aligned_alloc asctime assert at_quick_exit atexit atof atoi atol atoll bsearch btowc calloc clearerr "
    "clock clock_t ctime difftime div div_t environ errno exit fclose feof ferror fflush fgetc fgetpos fgets fgetwc "
    "fgetws fopen fprintf fputc fputs fputwc fputws fread free freopen fscanf fseek fsetpos ftell fwide fwprintf "
    "fwrite fwscanf getc getchar getenv gets getwc getwchar gmtime imaxabs imaxdiv index isalnum isalpha isblank "
    "iscntrl isdigit isgraph islower isprint ispunct isspace isupper iswalnum iswalpha iswblank iswcntrl iswctype "
    "iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit isxdigit jmp_buf labs ldiv ldiv_t "
    "llabs lldiv lldiv_t localeconv localtime longjmp malloc mblen mbrlen mbrtowc mbsinit mbsrtowcs mbstowcs mbtowc "
    "memchr memcmp memcpy memmove memset mktime nullptr_t offsetof perror printf ptrdiff_t putc putchar puts putwc "
    "putwchar qsort quick_exit raise rand realloc remove rename rewind rindex scanf setbuf setjmp setlocale setvbuf "
    "signal size_t snprintf sprintf srand sscanf stderr stdin stdout strcat strchr strcmp strcoll strcpy strcspn "
    "strerror strftime strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtod strtof strtoimax strtok "
    "strtol strtold strtoll strtoul strtoull strtoumax strxfrm swprintf swscanf system time time_t timespec "
    "timespec_get tm tmpfile tmpnam tolower toupper towctrans towlower towupper ungetc ungetwc va_arg va_copy va_end "
    "va_list va_start vfprintf vfscanf vfwprintf vfwscanf vprintf vscanf vsnprintf vsprintf vsscanf vswprintf "
    "vswscanf vwprintf vwscanf wcrtomb wcscat wcschr wcscmp wcscoll wcscpy wcscspn wcsftime wcslen wcsncat wcsncmp "
    "wcsncpy wcspbrk wcsrchr wcsrtombs wcsspn wcsstr wcstod wcstof wcstoimax wcstok wcstol wcstold wcstoll wcstombs "
    "wcstoul wcstoull wcstoumax wcsxfrm wctob wctomb wctrans wctype wint_t wmemchr wmemcmp wmemcpy wmemmove wmemset "
    "wprintf wscanf ";

// What every program on Linux is linked with besides: a function of this name would be called instead.
constexpr std::string_view posix_names =
    " "
    "accept access alarm alloca bcmp bcopy bind bzero chdir chmod chown clone close closedir connect creat dlclose "
    "dlerror dlopen dlsym drand48 dup dup2 erand48 execl execv execve fabsf128 fchmod fcntl fdopen ffs ffsl ffsll "
    "fileno fork fstat ftruncate getcwd getpid getppid getuid initstate ioctl isatty kill link listen lrand48 lseek "
    "lstat mkdir mkdtemp mkfifo mkstemp mmap mprotect mrand48 munmap nanosleep nice nrand48 open opendir pause "
    "pclose pipe poll popen posix_memalign pread putenv pwrite random read readdir readlink readv recv rmdir seed48 "
    "select send setenv setstate sigaction sleep socket srand48 srandom stat stpcpy strcasecmp strdup strncasecmp "
    "strndup strnlen strsep strsignal strtok_r symlink sync syscall truncate umask unlink unsetenv usleep valloc "
    "vfork wait waitpid write writev ";

// Each also with f and l behind it: math.h, and what CUDA adds to it.
constexpr std::string_view mathematics =
    " "
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 drem erf "
    "erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs fdim finite floor fma fmax fmin fmod frexp gamma hypot "
    "ilogb isinf isnan j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan "
    "nearbyint nextafter nexttoward norm norm3d norm4d normcdf normcdfinv pow pow10 rcbrt remainder remquo rhypot "
    "rint rnorm rnorm3d rnorm4d round rsqrt scalb scalbln scalbn significand sin sincos sincospi sinh sinpi sqrt tan "
    "tanh tanpi tgamma trunc y0 y1 yn ";

// What CUDA's headers have without a mark of theirs before it.
constexpr std::string_view cuda_names =
    " "
    "bfloat16 bfloat162 blockDim blockIdx clock64 dim3 fpclassify gridDim half half2 isfinite isgreater "
    "isgreaterequal isless islessequal islessgreater isnormal isunordered llmax llmin max min nanosleep printf "
    "saturate signbit threadIdx trap uchar uint ullmax ullmin ulong umax umin ushort warpSize ";

// Macros of the C library's headers that are of no family, and those that g++ has for its system.
constexpr std::string_view macros =
    " "
    "BIG_ENDIAN BUFSIZ BYTE_ORDER CHAR_BIT DECIMAL_DIG EOF HUGE HUGE_VAL HUGE_VALF HUGE_VALL INFINITY LITTLE_ENDIAN "
    "LONG_BIT MAXFLOAT MAX_CANON MAX_INPUT MINSIGSTKSZ NAN NDEBUG NFDBITS NSIG NULL NZERO PDP_ENDIAN PIPE_BUF SNAN "
    "SNANF SNANL TEMP_FAILURE_RETRY TIME_UTC WEOF WORD_BIT be16toh be32toh be64toh htobe16 htobe32 htobe64 htole16 "
    "htole32 htole64 i386 issubnormal le16toh le32toh le64toh linux math_errhandling strdupa strndupa unix ";

// Sizes of CUDA's vectors follow these: float4, uchar2.
constexpr std::string_view vector_types =
    " char double float int long longlong short uchar uint ulong ulonglong ushort half nv_bfloat16 ";

bool holds(std::string_view list, std::string_view name) {
  // Between blanks: a name has none.
  for (size_t at = 0; (at = list.find(name, at)) != list.npos; at++)
    if (at > 0 && list[at - 1] == ' ' && list[at + name.size()] == ' ') return true;
  return false;
}

bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// int8_t, uint_fast16_t, intptr_t, …
bool is_stdint(std::string_view name) {
  return name.ends_with("_t") && (name.starts_with("int") || name.starts_with("uint"));
}

// INT_MAX, M_PI, FLT_EPSILON, EINVAL, SIGINT, PRId64, …: those of a family, all of which C keeps for itself or for
// later (C17, 7.31).
bool is_macro_of_a_family(std::string_view name) {
  for (std::string_view end : {"_MAX", "_MIN", "_WIDTH", "_FILENO"})
    if (name.size() > end.size() && name.ends_with(end)) return true;
  for (std::string_view begin : {"CLOCK_", "CLOCKS_", "DBL_", "EXIT_", "FE_", "FLT_", "FP_", "FPE_", "LC_", "LDBL_",
                                 "L_", "MATH_", "M_", "PRI", "SCN", "SEEK_", "SIG_"})
    if (name.size() > begin.size() && name.starts_with(begin)) return true;
  const bool capitals = std::none_of(name.begin(), name.end(), [](unsigned char c) { return std::islower(c) != 0; });
  if (capitals && name.size() > 1 && name[0] == 'E') return true;
  if (capitals && name.size() > 3 && name.starts_with("SIG")) return true;
  return name.ends_with("_C") && (name.starts_with("INT") || name.starts_with("UINT"));
}

}  // namespace

bool is_keyword(std::string_view name) { return holds(keywords, name); }

bool is_library_name(std::string_view name) {
  if (name.empty()) return false;
  if (holds(c_library, name) || holds(posix_names, name) || holds(mathematics, name) || holds(cuda_names, name) ||
      holds(macros, name) || is_stdint(name) || is_macro_of_a_family(name))
    return true;
  const std::string_view less_one = name.substr(0, name.size() - 1);
  if ((name.back() == 'f' || name.back() == 'l') && holds(mathematics, less_one)) return true;
  if (is_digit(name.back()) && holds(vector_types, less_one)) return true;
  if (constexpr std::string_view make = "make_"; name.starts_with(make))
    return is_library_name(name.substr(make.size()));
  // cudaMalloc, cuInit, CUstream, atomicAdd, tex2D, surf2Dread.
  for (std::string_view begin : {"cuda", "nvrtc", "nv_bfloat16", "CU"})
    if (name.starts_with(begin)) return true;
  for (std::string_view begin : {"cu", "atomic", "tex", "surf"})
    if (name.starts_with(begin) && name.size() > begin.size() &&
        (is_upper(name[begin.size()]) || is_digit(name[begin.size()])))
      return true;
  return false;
}

}  // namespace convscope
