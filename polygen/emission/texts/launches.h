/* The functions of the source that are launched, by number. */
#define @NAME@_FUNCTIONS @count@
static inline char const *@name@_function(int number)
{
    static char const *const names[] = {
@each launch@        "@function@",
    };
    return names[number];
}

@grids@
@flags@
/* Calls `start` for each launch, in order, those of nothing left out.  Each has to see
   what those before it wrote.  `function` is its number, `loops` has the values of the
   loops on the host around it.  Ends at the first that returns something else than 0,
   and returns that.@about_flags@ */
typedef int @name@_start(
    void *context, int function, pg_launch const *launch, int64_t const *loops);
static inline int @name@_launches(@parameters@)
{
    int64_t pg_loops[@depth@] = {0};
    pg_launch pg_next;
    int pg_status;
@unused@
@nodes@
    return 0;
}
