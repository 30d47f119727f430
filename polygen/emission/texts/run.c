/* Checks sizes, provides memory for temporaries, and runs kernel '@name@'. */
#include <stdlib.h>

#include "@name@.h"
@library@

@definitions@
/* Under a name that no argument has. */
static void (*const pg_kernel)(@types@) = @name@;

int @name@_run(
    @parameters@)
{
    int pg_status = @name@_check(@sizes@);
    if (pg_status)
        return pg_status;
@each temporary@    void *pg_memory_@a@ = aligned_alloc(@alignment@, ((size_t) @name@_elements_@a@(@sizes@) * sizeof(@type@) + @rest@) / @alignment@ * @alignment@);
@each temporary@    @type@ *@a@ = pg_memory_@a@;
@run@
}
