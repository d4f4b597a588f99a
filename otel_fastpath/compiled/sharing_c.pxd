# The C forms of sharing.py, and types of fields that threads read and write without a guard. With the interpreter lock
# they are plain integers.

cdef extern from *:
    """
    #ifndef OTEL_FASTPATH_SHARING
    #define OTEL_FASTPATH_SHARING
    #ifndef Py_GIL_DISABLED
    typedef int otel_fastpath_shared_int;
    typedef Py_ssize_t otel_fastpath_shared_size;
    typedef unsigned long otel_fastpath_shared_count;
    #define otel_fastpath_add_one(count) (++*(count))
    #elif defined(_MSC_VER)
    /* Loads acquire and stores release what is volatile, as long as /volatile:iso is not given. */
    #include <intrin.h>
    typedef volatile int otel_fastpath_shared_int;
    typedef volatile Py_ssize_t otel_fastpath_shared_size;
    typedef volatile long otel_fastpath_shared_count;
    #define otel_fastpath_add_one(count) _InterlockedIncrement(count)
    #else
    typedef _Atomic int otel_fastpath_shared_int;
    typedef _Atomic Py_ssize_t otel_fastpath_shared_size;
    typedef _Atomic unsigned long otel_fastpath_shared_count;
    #define otel_fastpath_add_one(count) (++*(count))
    #endif
    #endif
    """
    ctypedef bint shared_flag "otel_fastpath_shared_int"
    ctypedef int shared_int "otel_fastpath_shared_int"
    ctypedef Py_ssize_t shared_size "otel_fastpath_shared_size"
    ctypedef unsigned long shared_count "otel_fastpath_shared_count"
