/* Calls of compiled kernels from Python whose arguments are like those of a call before.
 *
 * `pg_quick_call` makes a function of Python's from a description (quick_calls.py). That function
 * is passed the arguments of a call as a dictionary. Where these have the names, classes, types,
 * shapes and strides that it was made for, it runs the kernel and returns what the call returns;
 * else it returns None, has done nothing, and the call goes on in Python.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What is used of Python's stable interface, so that its headers need not be there. */
typedef intptr_t Py_ssize_t;
typedef struct PyObject PyObject;
struct PyObject {
    Py_ssize_t references;
    PyObject *type;
};
typedef struct {
    const char *name;
    PyObject *(*function)(PyObject *, PyObject *);
    int flags;
    const char *doc;
} PyMethodDef;
extern PyObject _Py_NoneStruct;
void Py_IncRef(PyObject *);
void Py_DecRef(PyObject *);
PyObject *PyErr_Occurred(void);
void PyErr_Clear(void);
PyObject *PyErr_NoMemory(void);
PyObject *PyObject_CallObject(PyObject *, PyObject *);
PyObject *PyObject_CallFunctionObjArgs(PyObject *, ...);
Py_ssize_t PyDict_Size(PyObject *);
int PyDict_Next(PyObject *, Py_ssize_t *, PyObject **, PyObject **);
PyObject *PyTuple_New(Py_ssize_t);
Py_ssize_t PyTuple_Size(PyObject *);
PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t);
int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
int PyUnicode_Compare(PyObject *, PyObject *);
PyObject *PyNumber_Index(PyObject *);
long long PyLong_AsLongLong(PyObject *);
unsigned long long PyLong_AsUnsignedLongLong(PyObject *);
double PyFloat_AsDouble(PyObject *);
PyObject *PyCapsule_New(void *, const char *, void (*)(PyObject *));
void *PyCapsule_GetPointer(PyObject *, const char *);
PyObject *PyCFunction_NewEx(PyMethodDef *, PyObject *, PyObject *);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *);

/* The head of NumPy's arrays, which is part of its binary interface. */
typedef struct {
    PyObject head;
    char *data;
    int axes;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    PyObject *base;
    PyObject *dtype;
    int flags;
} Array;
enum { METH_O = 8, WRITEABLE = 0x400 };

typedef union {
    int64_t i;
    uint64_t u;
    double d;
    void *p;
} Slot; /* as pg_slot of kernels: quick_calls.py */

enum { ARRAY, SIGNED, UNSIGNED, FLOAT };
typedef struct {
    PyObject *name;
    PyObject *type;
    int kind;
    int slot;          /* -1: it is compared, and not passed */
    PyObject *dtype;   /* of arrays, from here on */
    int axes;
    Py_ssize_t *shape; /* and strides behind it */
    int written;
    intptr_t before;   /* bytes ahead of the first element that generated code sees */
    uintptr_t mask;    /* bits that are 0 in the address */
    intptr_t low, high; /* where the bytes begin and end, from the first element on */
    Slot least, most;  /* of integers */
} Argument;
typedef struct {
    PyObject *make;
    int slot;
    intptr_t before;
} New;
typedef struct {
    PyObject *description; /* what owns the objects below */
    void (*function)(const Slot *);
    int slots, arguments, pairs, news, outputs, memory;
    Slot *constant;
    Argument *argument;
    int *pair;   /* two arguments each */
    New *fresh;  /* outputs that the call allocates */
    int *output; /* an argument's number, or, behind those, that of a new array */
    PyObject *event;
    PyObject *take, *give; /* memory of temporaries; NULL without any */
} Quick;

static const char CAPSULE[] = "polygen.quick_call";
enum { MOST = 256 };

static PyObject *not_this(void)
{
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

/* --- whether arguments are like those that a function was made for */

static int is_array(const Argument *as, const PyObject *value, Slot *slot, char **at)
{
    const Array *array = (const Array *)value;
    size_t bytes = (size_t)as->axes * sizeof(Py_ssize_t);
    if (array->dtype != as->dtype || array->axes != as->axes)
        return 0;
    if (memcmp(array->shape, as->shape, bytes) != 0)
        return 0;
    if (memcmp(array->strides, as->shape + as->axes, bytes) != 0)
        return 0;
    if (as->written && !(array->flags & WRITEABLE))
        return 0;
    *at = array->data;
    slot[as->slot].p = array->data - as->before;
    return (slot[as->slot].u & as->mask) == 0;
}

static int is_integer(const Argument *as, PyObject *value, Slot *slot)
{
    Slot found = {0};
    PyObject *index = PyNumber_Index(value);
    if (index != NULL) {
        if (as->kind == SIGNED)
            found.i = PyLong_AsLongLong(index);
        else
            found.u = PyLong_AsUnsignedLongLong(index);
        Py_DecRef(index);
    }
    if (found.u == UINT64_MAX || index == NULL) { /* -1 may be an error */
        if (PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
    }
    if (as->slot >= 0)
        slot[as->slot] = found;
    if (as->kind == SIGNED)
        return as->least.i <= found.i && found.i <= as->most.i;
    return as->least.u <= found.u && found.u <= as->most.u;
}

static int is_float(const Argument *as, PyObject *value, Slot *slot)
{
    double found = PyFloat_AsDouble(value);
    if (found == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    slot[as->slot].d = found;
    return 1;
}

static int are_alike(const Quick *quick, PyObject *values, Slot *slot)
{
    char *at[MOST];
    Py_ssize_t position = 0;
    PyObject *name, *value;
    if (PyDict_Size(values) != quick->arguments)
        return 0;
    for (int k = 0; k < quick->arguments; ++k) {
        const Argument *as = &quick->argument[k];
        PyDict_Next(values, &position, &name, &value);
        if (value->type != as->type)
            return 0;
        if (name != as->name && PyUnicode_Compare(name, as->name) != 0) /* not interned */
            return 0;
        int alike = as->kind == ARRAY   ? is_array(as, value, slot, &at[k])
                    : as->kind == FLOAT ? is_float(as, value, slot)
                                        : is_integer(as, value, slot);
        if (!alike)
            return 0;
    }
    for (int k = 0; k < quick->pairs; ++k) {
        int first = quick->pair[2 * k], second = quick->pair[2 * k + 1];
        const Argument *a = &quick->argument[first], *b = &quick->argument[second];
        if (at[first] + a->low < at[second] + b->high && at[second] + b->low < at[first] + a->high)
            return 0;
    }
    return 1;
}

/* --- running */

static int allocate(const Quick *quick, PyObject **made, Slot *slot)
{
    for (int k = 0; k < quick->news; ++k) {
        const New *fresh = &quick->fresh[k];
        made[k] = PyObject_CallObject(fresh->make, NULL);
        if (made[k] == NULL) {
            while (k-- > 0)
                Py_DecRef(made[k]);
            return 0;
        }
        slot[fresh->slot].p = ((Array *)made[k])->data - fresh->before;
    }
    return 1;
}

static int start(const Quick *quick, Slot *slot)
{
    PyObject *memory = NULL, *given;
    if (quick->take != NULL) {
        memory = PyObject_CallObject(quick->take, NULL);
        if (memory == NULL)
            return 0;
        PyObject *addresses = PyTuple_GetItem(memory, 1);
        for (int k = quick->memory; k < quick->slots; ++k)
            slot[k].p = (void *)(uintptr_t)PyLong_AsUnsignedLongLong(
                PyTuple_GetItem(addresses, k - quick->memory));
    }
    void *thread = PyEval_SaveThread();
    quick->function(slot);
    PyEval_RestoreThread(thread);
    if (memory == NULL)
        return 1;
    given = PyObject_CallFunctionObjArgs(quick->give, memory, NULL);
    Py_DecRef(memory);
    if (given == NULL)
        return 0;
    Py_DecRef(given);
    return 1;
}

static PyObject *returned(const Quick *quick, PyObject *values, PyObject **made)
{
    PyObject *all[MOST], *name, *value;
    Py_ssize_t position = 0;
    for (int k = 0; k < quick->arguments; ++k)
        if (PyDict_Next(values, &position, &name, &value))
            all[k] = value;
    memcpy(all + quick->arguments, made, (size_t)quick->news * sizeof *made);
    PyObject *both = PyTuple_New(2), *outputs = PyTuple_New(quick->outputs);
    if (both == NULL || outputs == NULL) {
        if (both != NULL)
            Py_DecRef(both);
        return NULL;
    }
    for (int k = 0; k < quick->outputs; ++k) {
        Py_IncRef(all[quick->output[k]]);
        PyTuple_SetItem(outputs, k, all[quick->output[k]]);
    }
    Py_IncRef(quick->event);
    PyTuple_SetItem(both, 0, quick->event);
    PyTuple_SetItem(both, 1, outputs);
    return both;
}

static PyObject *call(PyObject *self, PyObject *values)
{
    const Quick *quick = PyCapsule_GetPointer(self, CAPSULE);
    Slot slot[MOST];
    PyObject *made[MOST], *result = NULL;
    memcpy(slot, quick->constant, (size_t)quick->slots * sizeof *slot);
    if (!are_alike(quick, values, slot))
        return not_this();
    if (!allocate(quick, made, slot))
        return NULL;
    if (start(quick, slot))
        result = returned(quick, values, made);
    for (int k = 0; k < quick->news; ++k)
        Py_DecRef(made[k]);
    return result;
}

/* --- making: from a tuple of numbers, objects and tuples; see quick_calls.py */

static PyObject *item(PyObject *of, int k)
{
    return PyTuple_GetItem(of, k);
}

static long long number(PyObject *of, int k)
{
    return PyLong_AsLongLong(item(of, k));
}

static Argument argument(PyObject *of)
{
    Argument made = {.name = item(of, 0),
                     .type = item(of, 1),
                     .kind = (int)number(of, 2),
                     .slot = (int)number(of, 3)};
    if (made.kind == ARRAY) {
        PyObject *shape = item(of, 5), *strides = item(of, 6);
        made.dtype = item(of, 4);
        made.axes = (int)PyTuple_Size(shape);
        made.shape = malloc((size_t)(2 * made.axes + 1) * sizeof *made.shape);
        for (int k = 0; made.shape != NULL && k < made.axes; ++k) {
            made.shape[k] = (Py_ssize_t)number(shape, k);
            made.shape[made.axes + k] = (Py_ssize_t)number(strides, k);
        }
        made.written = (int)number(of, 7);
        made.before = (intptr_t)number(of, 8);
        made.mask = (uintptr_t)number(of, 9);
        made.low = (intptr_t)number(of, 10);
        made.high = (intptr_t)number(of, 11);
    } else if (made.kind == SIGNED) {
        made.least.i = number(of, 4);
        made.most.i = number(of, 5);
    } else if (made.kind == UNSIGNED) {
        made.least.u = PyLong_AsUnsignedLongLong(item(of, 4));
        made.most.u = PyLong_AsUnsignedLongLong(item(of, 5));
    }
    return made;
}

static void forget(PyObject *capsule)
{
    Quick *quick = PyCapsule_GetPointer(capsule, CAPSULE);
    for (int k = 0; quick->argument != NULL && k < quick->arguments; ++k)
        free(quick->argument[k].shape);
    free(quick->argument);
    free(quick->constant);
    free(quick->pair);
    free(quick->fresh);
    free(quick->output);
    Py_DecRef(quick->description);
    free(quick);
}

/* Return memory for so many of something; never of nothing. */
static void *some(int count, size_t size)
{
    return calloc((size_t)count + 1, size);
}

static void fill(Quick *quick, PyObject *of)
{
    PyObject *constants = item(of, 1), *arguments = item(of, 2), *pairs = item(of, 3);
    PyObject *news = item(of, 4), *outputs = item(of, 5), *memory = item(of, 7);
    for (int k = 0; k < quick->slots; ++k)
        quick->constant[k].i = number(constants, k);
    for (int k = 0; k < quick->arguments; ++k)
        quick->argument[k] = argument(item(arguments, k));
    for (int k = 0; k < 2 * quick->pairs; ++k)
        quick->pair[k] = (int)number(pairs, k);
    for (int k = 0; k < quick->news; ++k) {
        PyObject *fresh = item(news, k);
        quick->fresh[k] = (New){.make = item(fresh, 0),
                                .slot = (int)number(fresh, 1),
                                .before = (intptr_t)number(fresh, 2)};
    }
    for (int k = 0; k < quick->outputs; ++k)
        quick->output[k] = (int)number(outputs, k);
    quick->event = item(of, 6);
    if (PyTuple_Size(memory) != 0) {
        quick->take = item(memory, 0);
        quick->give = item(memory, 1);
        quick->memory = (int)number(memory, 2);
    }
}

static PyMethodDef METHOD = {"quick_call", call, METH_O, NULL};

PyObject *pg_quick_call(PyObject *of)
{
    Quick *quick = calloc(1, sizeof *quick);
    if (quick == NULL)
        return PyErr_NoMemory();
    quick->function = (void (*)(const Slot *))(uintptr_t)PyLong_AsUnsignedLongLong(item(of, 0));
    quick->slots = (int)PyTuple_Size(item(of, 1));
    quick->arguments = (int)PyTuple_Size(item(of, 2));
    quick->pairs = (int)PyTuple_Size(item(of, 3)) / 2;
    quick->news = (int)PyTuple_Size(item(of, 4));
    quick->outputs = (int)PyTuple_Size(item(of, 5));
    quick->constant = some(quick->slots, sizeof *quick->constant);
    quick->argument = some(quick->arguments, sizeof *quick->argument);
    quick->pair = some(2 * quick->pairs, sizeof *quick->pair);
    quick->fresh = some(quick->news, sizeof *quick->fresh);
    quick->output = some(quick->outputs, sizeof *quick->output);
    quick->description = of;
    Py_IncRef(of);
    PyObject *capsule = PyCapsule_New(quick, CAPSULE, forget);
    if (capsule == NULL)
        return NULL;
    if (quick->constant && quick->argument && quick->pair && quick->fresh && quick->output)
        fill(quick, of);
    else
        PyErr_NoMemory();
    for (int k = 0; quick->argument != NULL && k < quick->arguments; ++k)
        if (quick->argument[k].kind == ARRAY && quick->argument[k].shape == NULL)
            PyErr_NoMemory();
    if (PyErr_Occurred()) {
        Py_DecRef(capsule);
        return NULL;
    }
    PyObject *made = PyCFunction_NewEx(&METHOD, capsule, NULL);
    Py_DecRef(capsule);
    return made;
}

/* Write what is seen of an array of one axis, for Python to compare with what it knows. */
void pg_seen(PyObject *value, intptr_t *seen)
{
    const Array *array = (const Array *)value;
    intptr_t found[] = {(intptr_t)value->type, (intptr_t)array->data,  array->axes,
                        array->shape[0],       array->strides[0],      (intptr_t)array->dtype,
                        (array->flags & WRITEABLE) != 0};
    memcpy(seen, found, sizeof found);
}
