    status = @name@_run(@given_alone@);
    if (status)
        pg_fail("@name@", @name@_message(status));
