#ifdef __cplusplus
extern "C" {
#endif

/* 0 if the kernel can run with these sizes; else the number of what is wrong, which
   @name@_message has in words. */
int @name@_check(@size_parameters@);
char const *@name@_message(int status);

@each memory@pg_layout @name@_layout_@a@(@size_parameters@);

/* How many elements the memory of each array has; -1 if elements lie ahead of it. */
@each memory@int64_t @name@_elements_@a@(@size_parameters@);

/* Checks the sizes, provides memory for temporaries, and runs the kernel.
@runs@
int @name@_run(@parameters@);

/* The kernel itself, in @name@.c: nothing is checked, and temporaries come last. */
void @name@(@all_parameters@);

#ifdef __cplusplus
}
#endif
