/* The flags that loops on the host ask, by number: temporaries of one element.  All of
   them are 0 before the first launch. */
#define @NAME@_FLAGS @flag_count@
static inline char const *@name@_flag(int number)
{
    static char const *const names[] = {
@each flag@        "@a@",
    };
    return names[number];
}

/* Waits for all launches so far, and finds out whether a flag is not 0.  `flag` is its
   number.  Returns 0, or what is wrong. */
typedef int @name@_ask(void *context, int flag, int *is_set);

