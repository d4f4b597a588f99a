/* What a profile has to know without the interpreter lock.
 *
 * Whether the compiled core was running when SIGPROF came: a compiled function has no frame in Python's stack.
 *
 * Python calls its handler of a signal later, between two instructions of Python code. So this handler, which the kernel
 * calls at once, looks at the C stack, from its inner end outwards, for the first return address that is in one of the
 * compiled modules or in the interpreter's loop. In the loop, a Python function was running, and the stack of Python
 * frames tells the rest. Then Python's own handler is called. All of it is safe in a signal handler: it reads
 * memory of its own thread's stack, and writes one variable.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>
#if defined(__linux__)
#include <ucontext.h>
#endif

#define MOST_RANGES 256
/* Words: the kernel's frame with the registers, and what C functions may keep between two of Python. */
#define DEEPEST 1536
#define LOOP (-1)

static struct {
    uintptr_t begin, end;
    int owner;
} ranges[MOST_RANGES];
static int range_count;
static uintptr_t lowest, highest;
static volatile sig_atomic_t found = LOOP;
static struct sigaction previous;
static pthread_t watched;
/* The end of the watched thread's stack: what is above it may not be readable. */
static uintptr_t stack_end;

/* Whether the signal came at a system call. The compiled core makes none, but in the frames of the C functions that do,
 * which have buffers, there are return addresses of compiled functions that ran before. */
static int
is_system_call(const void *context)
{
#if defined(__linux__) && defined(__x86_64__)
    const uint8_t *next = (const uint8_t *)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    /* Behind it, or at it if it is to be restarted. */
    return (next[-2] == 0x0f && next[-1] == 0x05) || (next[0] == 0x0f && next[1] == 0x05);
#elif defined(__linux__) && defined(__aarch64__)
    const uint32_t *next = (const uint32_t *)((const ucontext_t *)context)->uc_mcontext.pc;
    return next[-1] == 0xd4000001 || next[0] == 0xd4000001;
#else
    (void)context;
    return 0;
#endif
}

static void
on_signal(int number, siginfo_t *info, void *context)
{
    if (pthread_equal(pthread_self(), watched) && !is_system_call(context)) {
        const uintptr_t *word = (const uintptr_t *)__builtin_frame_address(0);
        for (int left = DEEPEST; left > 0 && (uintptr_t)(word + 1) <= stack_end; left--, word++) {
            uintptr_t value = *word;
            if (value < lowest || value >= highest) {
                continue;
            }
            for (int each = 0; each < range_count; each++) {
                if (value >= ranges[each].begin && value < ranges[each].end) {
                    found = ranges[each].owner;
                    left = 0;
                    break;
                }
            }
        }
    }
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(number, info, context);
    }
    else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(number);
    }
}

static void
add_range(uintptr_t begin, uintptr_t end, int owner)
{
    if (range_count < MOST_RANGES && begin < end) {
        ranges[range_count].begin = begin;
        ranges[range_count].end = end;
        ranges[range_count].owner = owner;
        range_count++;
        lowest = lowest == 0 || begin < lowest ? begin : lowest;
        highest = end > highest ? end : highest;
    }
}

/* An address in this thread's stack. */
static PyObject *
here(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    return PyLong_FromVoidPtr(__builtin_frame_address(0));
}

static PyObject *
watch(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    struct sigaction action = {0}, current;
    PyObject *given;
    unsigned long long begin, end, stack;
    if (!PyArg_ParseTuple(arguments, "O!(KK)K", &PyTuple_Type, &given, &begin, &end, &stack)) {
        return NULL;
    }
    /* A signal that comes meanwhile looks at no ranges. */
    range_count = 0;
    lowest = highest = 0;
    found = LOOP;
    stack_end = (uintptr_t)stack;
    add_range((uintptr_t)begin, (uintptr_t)end, LOOP);
    for (Py_ssize_t each = 0; each < PyTuple_Size(given); each++) {
        if (!PyArg_ParseTuple(PyTuple_GetItem(given, each), "KK", &begin, &end)) {
            return NULL;
        }
        add_range((uintptr_t)begin, (uintptr_t)end, (int)each);
    }
    watched = pthread_self();
    if (sigaction(SIGPROF, NULL, &current) != 0) {
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    if (!(current.sa_flags & SA_SIGINFO && current.sa_sigaction == on_signal)) {
        previous = current;
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        action.sa_mask = previous.sa_mask;
        if (sigaction(SIGPROF, &action, NULL) != 0) {
            return PyErr_SetFromErrno(PyExc_OSError);
        }
    }
    Py_RETURN_NONE;
}

static PyObject *
take(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    long owner = found;
    found = LOOP;
    return PyLong_FromLong(owner);
}

#define MOST_THREADS 512
/* How long a thread is watched, which the kernel makes some tens of microseconds, and how long that may become on a busy
 * machine: too short for much of its work. This thread sleeps meanwhile: it may have been given the processor of the one
 * that it watches. A thread that waits for the interpreter lock works, too, but little. */
#define WATCHED_NS 5000
#define LONGEST_NS 1000000

static long long
nanoseconds(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) ? 0 : now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Which of these threads are working a while from now: a thread that waits for the interpreter lock to find out would
 * be given it when the others wait. */
static PyObject *
working(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *given, *found;
    long long wait, began, watched;
    clockid_t clocks[MOST_THREADS];
    long long before[MOST_THREADS], after[MOST_THREADS];
    if (!PyArg_ParseTuple(arguments, "O!L", &PyTuple_Type, &given, &wait)) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_Size(given) < MOST_THREADS ? PyTuple_Size(given) : MOST_THREADS;
    for (Py_ssize_t each = 0; each < count; each++) {
        long thread = PyLong_AsLong(PyTuple_GetItem(given, each));
        if (thread == -1 && PyErr_Occurred()) {
            return NULL;
        }
        /* The clock of a thread by its number, as the kernel defines it. */
        clocks[each] = (clockid_t)(~(unsigned int)thread << 3 | 6);
    }
    Py_BEGIN_ALLOW_THREADS
    struct timespec time = {(time_t)(wait / 1000000000LL), (long)(wait % 1000000000LL)};
    nanosleep(&time, NULL);
    for (Py_ssize_t each = 0; each < count; each++) {
        before[each] = nanoseconds(clocks[each]);
    }
    began = nanoseconds(CLOCK_MONOTONIC);
    time.tv_sec = 0;
    time.tv_nsec = WATCHED_NS;
    nanosleep(&time, NULL);
    for (Py_ssize_t each = 0; each < count; each++) {
        after[each] = nanoseconds(clocks[each]);
    }
    watched = nanoseconds(CLOCK_MONOTONIC) - began;
    Py_END_ALLOW_THREADS
    found = PyTuple_New(count);
    for (Py_ssize_t each = 0; found != NULL && each < count; each++) {
        if (PyTuple_SetItem(found, each, PyBool_FromLong(watched < LONGEST_NS && before[each] > 0 && after[each] - before[each] > watched / 2))) {
            Py_CLEAR(found);
        }
    }
    return found;
}

static PyMethodDef methods[] = {
    {"here", here, METH_NOARGS, "An address in the stack of this thread."},
    {"watch", watch, METH_VARARGS, "Watch this thread for code in these ranges: of modules, of the loop; and its stack's end."},
    {"take", take, METH_NOARGS, "The index of the range that was running at the last signal, or -1; and forget it."},
    {"working", working, METH_VARARGS, "Whether each of these threads, by native id, works so many nanoseconds from now."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "compiled_code_c", .m_methods = methods, .m_slots = slots,
};

PyMODINIT_FUNC
PyInit_compiled_code_c(void)
{
    return PyModuleDef_Init(&definition);
}
