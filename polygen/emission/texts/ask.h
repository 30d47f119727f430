static inline int @name@_ask_flag(void *pg_context, int pg_flag, int *pg_is_set)
{
    @name@_call *const pg_call = (@name@_call *) pg_context;
    switch (pg_flag) {
@each flag@    case @number@: {
@each flag@        @type@ pg_value = 0;
@each flag@        @status@ const pg_status = pg_read(@queue@, pg_call->@a@, &pg_value, sizeof pg_value);
@each flag@        *pg_is_set = @test@;
@each flag@        return pg_status;
@each flag@    }
    }
    return @wrong@;
}

