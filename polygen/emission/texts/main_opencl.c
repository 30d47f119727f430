    pg_device device;
    cl_kernel kernels[@NAME@_FUNCTIONS] = {0};
    pg_open_device(&device);
    pg_build(&device, "@name@.cl", @NAME@_BUILD_OPTIONS, @NAME@_PLAIN_ON_OLD_POCL);
    pg_must(@name@_kernels(device.program, kernels), "clCreateKernel");
@each array@    cl_mem buffer_@a@ = pg_upload(&device, &array_@a@);
    pg_must(@name@_enqueue(
        device.queue,
        kernels@given@), "@name@");
@each written@    pg_download(&device, &array_@a@, buffer_@a@);
@each array@    clReleaseMemObject(buffer_@a@);
    for (int n = 0; n < @NAME@_FUNCTIONS; ++n)
        clReleaseKernel(kernels[n]);
    pg_close_device(&device);
