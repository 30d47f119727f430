/* 0 if the kernel can run with these sizes; else the number of what is wrong. */
@storage@int @name@_check(@size_parameters@)
{
@each limit@    if (@wrong@)
@each limit@        return @number@;
@each memory@    pg_layout const pg_of_@a@ = @name@_layout_@a@(@sizes@);
@each condition@    if (!(@right@))
@each condition@        return @number@;
    return 0;
}

@storage@char const *@name@_message(int status)
{
    static char const *const messages[] = {
        "fine",
@each limit@        @message@,
@each condition@        @message@,
@each failure@        @message@,
    };
    int const count = (int) (sizeof messages / sizeof messages[0]);
    return status >= 0 && status < count ? messages[status] : "there is no memory";
}

