    pg_device device;
    CUfunction functions[@NAME@_FUNCTIONS];
    pg_open_device(&device, "@name@.fatbin");
    pg_must(@name@_functions(device.module, functions), "cuModuleGetFunction");
@each array@    CUdeviceptr memory_@a@ = pg_upload(&array_@a@);
    pg_must(@name@_launch(
        NULL,
        functions@given@), "@name@");
    pg_must(cuCtxSynchronize(), "cuCtxSynchronize");
@each written@    pg_download(&array_@a@, memory_@a@);
@each array@    pg_must(cuMemFree(memory_@a@), "cuMemFree");
    pg_close_device(&device);
