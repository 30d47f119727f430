"""Names that the libraries have which generated code is linked with: functions cannot have them.

A function of such a name would be called in the place of the library's: `GOMP_parallel`, by the
loops of OpenMP; `memset`, by whatever else is in the program that the code is a part of.  So it is
with what the C library (GNU's, which has POSIX's functions, too), its mathematics and the libraries
of OpenMP and OpenACC offer to programs.
"""

from __future__ import annotations

import re

# Of OpenMP's and OpenACC's libraries, and parts of the C library.
_FAMILIES = re.compile(
    r"(GOMP|GOACC|OACC|OMP|gomp|goacc|omp|ompt|ompd|acc|kmp|kmpc)_.+"
    r"|(pthread|posix|inet6?|in6addr|aio|arg[pz]|envz|sched|sem|mq|thrd|ether|cnd|mtx|tss|epoll"
    r"|eventfd|inotify|fanotify|obstack|pkey|timerfd|gai|lio|pidfd|shm)_.+"
)
# What names of variants end with.
_VARIANT = re.compile(r"(64)?(_(r|l|unlocked|np))?$")
_OTHER_TYPE = re.compile(r"(f(32|64|128)x?|[fl])?(_r)?$")

_MATHEMATICS = frozenset(
    """
    canonicalize clog10 dadd ddiv dfma dmul dsqrt dsub f32add f32div f32fma f32mul f32sqrt
    f32sub f32xadd f32xdiv f32xfma f32xmul f32xsqrt f32xsub f64add f64div f64fma f64mul
    f64sqrt f64sub f64xadd f64xdiv f64xfma f64xmul f64xsqrt f64xsub fadd fdiv feclearexcept
    fedisableexcept feenableexcept fegetenv fegetexcept fegetexceptflag fegetmode fegetround
    feholdexcept feraiseexcept fesetenv fesetexcept fesetexceptflag fesetmode fesetround
    conj j0 j1 jn sincos y0 y1 yn
    fetestexcept fetestexceptflag feupdateenv ffma fmaximum fmaximum_mag fmaximum_mag_num
    fmaximum_num fmaxmag fminimum fminimum_mag fminimum_mag_num fminimum_num fminmag fmul
    fromfp fromfpx fsqrt fsub getpayload llogb nextdown nextup roundeven setpayload
    setpayloadsig totalorder totalordermag ufromfp ufromfpx
    """.split()  # noqa: SIM905  (a list of quoted words would be harder to read)
)
_C = frozenset(
    """
    a64l abort accept accept4 access acct addmntent addseverity adjtime adjtimex alarm
    aligned_alloc alphasort arc4random arc4random_buf arc4random_uniform arch_prctl asctime
    asprintf atof atoi atol atoll backtrace backtrace_symbols backtrace_symbols_fd basename
    bcmp bcopy bind bind_textdomain_codeset bindresvport bindtextdomain brk bsd_signal bsearch
    btowc bzero c16rtomb c32rtomb c8rtomb call_once calloc canonicalize_file_name capget
    capset catclose catgets catopen cfgetispeed cfgetospeed cfmakeraw cfsetispeed cfsetospeed
    cfsetspeed chdir chflags chmod chown chroot clearenv clearerr clock_adjtime
    clock_getcpuclockid clock_getres clock_gettime clock_nanosleep clock_settime clone close
    close_range closedir closefrom closelog confstr connect copy_file_range creat ctermid
    ctime cuserid daemon daylight dcgettext dcngettext delete_module dgettext difftime dirfd
    dirname div dl_iterate_phdr dladdr dladdr1 dlclose dlerror dlinfo dlmopen dlopen dlsym
    dlvsym dn_comp dn_expand dn_skipname dngettext dprintf drand48 dup dup2 dup3 duplocale
    dysize eaccess ecvt endaliasent endfsent endgrent endhostent endmntent endnetent
    endnetgrent endprotoent endpwent endrpcent endservent endsgent endspent endttyent
    endusershell endutent endutxent environ erand48 err errno error error_at_line
    error_message_count error_one_per_line error_print_progname errx euidaccess eventfd execl
    execle execlp execv execve execveat execvp execvpe exit explicit_bzero faccessat fallocate
    fchdir fchflags fchmod fchmodat fchown fchownat fclose fcloseall fcntl fcvt fdatasync
    fdopen fdopendir feof ferror fexecve fflush ffs ffsl ffsll fgetc fgetgrent fgetpos
    fgetpwent fgets fgetsgent fgetspent fgetwc fgetws fgetxattr fileno flistxattr flock
    flockfile fmemopen fmtmsg fnmatch fopen fopencookie fork forkpty fpathconf fprintf fputc
    fputs fputwc fputws fread freeaddrinfo freeifaddrs freelocale fremovexattr freopen fscanf
    fsconfig fseek fseeko fsetpos fsetxattr fsmount fsopen fspick fstat fstatat fstatfs
    fstatvfs fsync ftell ftello ftime ftok ftruncate ftrylockfile fts64_children fts64_close
    fts64_open fts64_read fts64_set fts_children fts_close fts_open fts_read fts_set ftw
    funlockfile futimens futimes futimesat fwide fwprintf fwrite fwscanf gcvt getaddrinfo
    getaddrinfo_a getaliasbyname getaliasent getauxval getc getchar getcontext getcpu getcwd
    getdate getdate_err getdelim getdents64 getdirentries getdomainname getdtablesize getegid
    getentropy getenv geteuid getfsent getfsfile getfsspec getgid getgrent getgrgid getgrnam
    getgrouplist getgroups gethostbyaddr gethostbyname gethostbyname2 gethostent gethostid
    gethostname getifaddrs getipv4sourcefilter getitimer getline getloadavg getlogin getmntent
    getnameinfo getnetbyaddr getnetbyname getnetent getnetgrent getopt getopt_long
    getopt_long_only getpagesize getpass getpeername getpgid getpgrp getpid getppid
    getpriority getprotobyname getprotobynumber getprotoent getpt getpw getpwent getpwnam
    getpwuid getrandom getresgid getresuid getrlimit getrpcbyname getrpcbynumber getrpcent
    getrusage gets getservbyname getservbyport getservent getsgent getsgnam getsid getsockname
    getsockopt getsourcefilter getspent getspnam getsubopt gettext gettid gettimeofday
    getttyent getttynam getuid getusershell getutent getutid getutline getutmp getutmpx
    getutxent getutxid getutxline getw getwc getwchar getwd getxattr glob glob_pattern_p
    globfree gmtime gnu_dev_major gnu_dev_makedev gnu_dev_minor gnu_get_libc_release
    gnu_get_libc_version grantpt group_member gsignal gtty h_errlist h_nerr hasmntopt hcreate
    hdestroy herror hsearch hstrerror htonl htons iconv iconv_close iconv_open
    if_freenameindex if_indextoname if_nameindex if_nametoindex imaxabs imaxdiv index
    init_module initgroups initstate innetgr insque ioctl ioperm iopl iruserok iruserok_af
    isalnum isalpha isascii isatty isblank iscntrl isctype isdigit isfdtype isgraph islower
    isprint ispunct isspace isupper iswalnum iswalpha iswblank iswcntrl iswctype iswdigit
    iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit isxdigit jrand48 kill
    killpg klogctl l64a lchmod lchown lckpwdf lcong48 ldiv lfind lgetxattr link linkat listen
    listxattr lldiv llistxattr localeconv localtime lockf login login_tty logout logwtmp
    longjmp lrand48 lremovexattr lsearch lseek lsetxattr lstat lutimes madvise makecontext
    mallinfo mallinfo2 malloc_info malloc_stats malloc_trim malloc_usable_size mallopt mblen
    mbrlen mbrtoc16 mbrtoc32 mbrtoc8 mbrtowc mbsinit mbsnrtowcs mbsrtowcs mbstowcs mbtowc
    mcheck mcheck_check_all mcheck_pedantic mcount memalign memccpy memchr memcmp memcpy
    memfd_create memfrob memmem memmove mempcpy memrchr memset mincore mkdir mkdirat mkdtemp
    mkfifo mkfifoat mknod mknodat mkostemp mkostemps mkstemp mkstemps mktemp mktime mlock
    mlock2 mlockall mmap modify_ldt moncontrol monstartup mount mount_setattr move_mount
    mprobe mprotect mrand48 mremap msgctl msgget msgrcv msgsnd msync mtrace munlock munlockall
    munmap muntrace name_to_handle_at nanosleep newlocale nftw ngettext nice nl_langinfo
    nrand48 ns_name_compress ns_name_ntop ns_name_pack ns_name_pton ns_name_skip
    ns_name_uncompress ns_name_unpack ntohl ntohs ntp_adjtime ntp_gettime ntp_gettimex on_exit
    open open_by_handle_at open_memstream open_tree open_wmemstream openat opendir openlog
    openpty optarg opterr optind optopt parse_printf_format pathconf pause pclose perror
    personality pipe2 pivot_root poll popen ppoll prctl pread preadv preadv2 preadv64v2
    printf_size printf_size_info prlimit process_madvise process_mrelease process_vm_readv
    process_vm_writev profil program_invocation_name program_invocation_short_name pselect
    psiginfo psignal ptrace ptsname putc putchar putenv putgrent putpwent puts putsgent
    putspent pututline pututxline putw putwc putwchar pvalloc pwrite pwritev pwritev2
    pwritev64v2 qecvt qfcvt qgcvt qsort quick_exit quotactl raise rand random rawmemchr rcmd
    rcmd_af re_comp re_compile_fastmap re_compile_pattern re_exec re_match re_match_2
    re_max_failures re_search re_search_2 re_set_registers re_set_syntax re_syntax_options
    read readahead readdir readlink readlinkat readv realloc reallocarray realpath reboot recv
    recvfrom recvmmsg recvmsg regcomp regerror regexec regfree register_printf_function
    register_printf_modifier register_printf_specifier register_printf_type remap_file_pages
    remove removexattr remque rename renameat renameat2 res_dnok res_hnok res_mailok
    res_mkquery res_nmkquery res_nquery res_nquerydomain res_nsearch res_nsend res_ownok
    res_query res_querydomain res_search res_send revoke rewind rewinddir rexec rexec_af
    rexecoptions rindex rmdir rpmatch rresvport rresvport_af ruserok ruserok_af ruserpass sbrk
    scandir scandirat scanf secure_getenv seed48 seekdir semctl semget semop semtimedop send
    sendfile sendmmsg sendmsg sendto setaliasent setbuf setbuffer setcontext setdomainname
    setegid setenv seteuid setfsent setfsgid setfsuid setgid setgrent setgroups sethostent
    sethostid sethostname setipv4sourcefilter setitimer setjmp setlinebuf setlocale setlogin
    setlogmask setmntent setnetent setnetgrent setns setpgid setpgrp setpriority setprotoent
    setpwent setregid setresgid setresuid setreuid setrlimit setrpcent setservent setsgent
    setsid setsockopt setsourcefilter setspent setstate settimeofday setttyent setuid
    setusershell setutent setutxent setvbuf setxattr sgetsgent sgetspent shmat shmctl shmdt
    shmget shutdown sigabbrev_np sigaction sigaddset sigaltstack sigandset sigblock sigdelset
    sigdescr_np sigemptyset sigfillset siggetmask sighold sigignore siginterrupt sigisemptyset
    sigismember siglongjmp signal signalfd sigorset sigpause sigpending sigprocmask sigqueue
    sigrelse sigreturn sigset sigsetmask sigstack sigsuspend sigtimedwait sigwait sigwaitinfo
    sleep snprintf sockatmark socket socketpair splice sprintf sprofil srand srand48 srandom
    sscanf ssignal stat statfs statvfs statx stderr stdin stdout stpcpy stpncpy strcasecmp
    strcasestr strcat strchr strchrnul strcmp strcoll strcpy strcspn strdup strerror
    strerrordesc_np strerrorname_np strfmon strfromd strfromf strfromf128 strfromf32
    strfromf32x strfromf64x strfroml strfry strftime strlen strncasecmp strncat strncmp
    strncpy strndup strnlen strpbrk strptime strrchr strsep strsignal strspn strstr strtod
    strtof strtof128 strtof32 strtof32x strtof64x strtoimax strtok strtol strtold strtoll
    strtoq strtoul strtoull strtoumax strtouq strverscmp strxfrm stty swab swapcontext swapoff
    swapon swprintf swscanf symlink symlinkat sync sync_file_range syncfs syscall sysconf
    sysinfo syslog system sysv_signal tcdrain tcflow tcflush tcgetattr tcgetpgrp tcgetsid
    tcsendbreak tcsetattr tcsetpgrp tdelete tdestroy tee telldir tempnam textdomain tfind
    tgkill time timegm timelocal timer_create timer_delete timer_getoverrun timer_gettime
    timer_settime times timespec_get timespec_getres timezone tmpfile tmpnam toascii tolower
    toupper towctrans towlower towupper truncate tsearch ttyname ttyslot twalk tzname tzset
    ualarm ulckpwdf ulimit umask umount umount2 uname ungetc ungetwc unlink unlinkat unlockpt
    unsetenv unshare updwtmp updwtmpx uselocale usleep utime utimensat utimes utmpname
    utmpxname valloc vasprintf vdprintf verr verrx versionsort vfork vfprintf vfscanf
    vfwprintf vfwscanf vhangup vlimit vmsplice vprintf vscanf vsnprintf vsprintf vsscanf
    vswprintf vswscanf vsyslog vwarn vwarnx vwprintf vwscanf wait wait3 wait4 waitid waitpid
    warn warnx wcpcpy wcpncpy wcrtomb wcscasecmp wcscat wcschr wcschrnul wcscmp wcscoll wcscpy
    wcscspn wcsdup wcsftime wcslen wcsncasecmp wcsncat wcsncmp wcsncpy wcsnlen wcsnrtombs
    wcspbrk wcsrchr wcsrtombs wcsspn wcsstr wcstod wcstof wcstof128 wcstof32 wcstof32x
    wcstof64x wcstoimax wcstok wcstol wcstold wcstoll wcstombs wcstoq wcstoul wcstoull
    wcstoumax wcstouq wcswcs wcswidth wcsxfrm wctob wctomb wctrans wctype wcwidth wmemchr
    wmemcmp wmemcpy wmemmove wmempcpy wmemset wordexp wordfree wprintf write writev wscanf
    """.split()  # noqa: SIM905
)


def is_in_library(name: str) -> bool:
    """Tell whether a library has a function, or a variable, of a name."""
    if name in _C or _VARIANT.sub("", name) in _C or _FAMILIES.fullmatch(name):
        return True
    return name in _MATHEMATICS or _OTHER_TYPE.sub("", name) in _MATHEMATICS


def without_other_type(name: str) -> str:
    """Return the name of a mathematical function without that of the type that it is for."""
    return _OTHER_TYPE.sub("", name)
