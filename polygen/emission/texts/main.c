/* Runs kernel '@name@': ./@name@_host @usage@
   Arrays that are not given are filled: polygen_host.h says with what. */
#define _POSIX_C_SOURCE 200809L
@each include@#include "@file@"

#include "polygen_host.h"

int main(int argc, char **argv)
{
@each scalar@    pg_value value_@a@ = {
@each scalar@        .name = "@a@",
@each scalar@        .kind = @kind@,
@each scalar@        .bits = @bits@,
@each scalar@    };
@each array@    pg_array array_@a@ = {
@each array@        .name = "@a@",
@each array@        .type = "@dtype@",
@each array@        .descr = "@descr@",
@each array@        .kind = @kind@,
@each array@        .itemsize = @itemsize@,
@each array@        .takes = @takes@,
@each array@        .reads = @reads@,
@each array@        .writes = @writes@,
@each array@@more@
@each array@        .number = @number@,
@each array@    };
    pg_value *const values[] = {@values@};
    pg_array *const arrays[] = {@arrays@};
    pg_read_arguments(argc, argv, @both@);
@found@
    pg_need_values(argv[0], @both@);

    int status = @name@_check(@size_values@);
    if (status)
        pg_fail("@name@", @name@_message(status));
@each array@    pg_make(&array_@a@, @name@_layout_@a@(@size_values@));

@run@

@each written@    pg_show(&array_@a@);
@each array@    free(array_@a@.data);
    return 0;
}
