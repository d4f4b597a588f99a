# C types for the compiled twin of sql.py.
import cython

from otel_fastpath.db.queries.summary_c cimport Summary

cdef int OTHER
cdef int SPACE
cdef int DIGIT
cdef int DOT
cdef int COMMA
cdef int OPEN
cdef int CLOSE
cdef int SEMICOLON
cdef int QUOTE
cdef int NAME
cdef int DOLLAR
cdef int MINUS
cdef int SLASH
cdef int LETTER
cdef Py_ssize_t UNFINISHED
cdef str _BETWEEN
cdef str _SPACES
cdef dict KINDS
cdef frozenset _BOOLEANS

cdef class Scan:
    cdef readonly str first
    cdef readonly str operation
    cdef readonly str procedure
    cdef readonly str summary
    cdef readonly bint takes_arguments
    cdef readonly str text

@cython.locals(scanner=Scanner)
cpdef scan(str text, Py_ssize_t most=*)

@cython.locals(pieces=list, copied=Py_ssize_t, length=Py_ssize_t, at=Py_ssize_t, end=Py_ssize_t)
cpdef without_quoted(str text, str names)

cdef class Scanner:
    cdef Py_ssize_t copied
    cdef bint is_cut
    cdef bint is_whole
    cdef Py_ssize_t length
    cdef Py_ssize_t list_size
    cdef Py_ssize_t list_start
    cdef list pieces
    cdef Py_ssize_t semicolon
    cdef Py_ssize_t stop
    cdef Summary summary
    cdef str tail
    cdef str text
    @cython.locals(text=str, length=Py_ssize_t, summary=Summary, at=Py_ssize_t, kind=int)
    cpdef read(self)
    cdef Py_ssize_t stop_at(self, Py_ssize_t at, str tail) except -2
    cdef bint is_open(self, Py_ssize_t end) except -1
    cdef Py_ssize_t literal(self, Py_ssize_t at, Py_ssize_t end) except -2
    cdef Py_ssize_t comment(self, Py_ssize_t at, Py_ssize_t end) except -2
    @cython.locals(text=str, length=Py_ssize_t, char=Py_UCS4, word=str, upper=str)
    cdef Py_ssize_t word(self, Py_ssize_t at, Py_ssize_t end) except -2
    cdef Py_ssize_t name(self, Py_ssize_t at, Py_ssize_t end) except -2
    @cython.locals(text=str, length=Py_ssize_t, end=Py_ssize_t, tag=str, closing=Py_ssize_t)
    cdef Py_ssize_t dollar(self, Py_ssize_t at) except -2
    @cython.locals(char=Py_UCS4)
    cdef Py_ssize_t sign(self, Py_ssize_t at) except -2
    cdef Py_ssize_t open(self, Py_ssize_t at) except -2
    cdef Py_ssize_t close(self, Py_ssize_t at) except -2
    cdef bint is_one_statement(self) except -1
    cdef without_literals(self)

@cython.locals(quote=Py_ssize_t, before=Py_ssize_t)
cdef Py_ssize_t string_end(str text, Py_ssize_t at, Py_ssize_t length) except -2

@cython.locals(char=Py_UCS4)
cdef Py_ssize_t escaped_end(str text, Py_ssize_t at, Py_ssize_t length) except -2

cdef Py_ssize_t quoted_end(str text, Py_ssize_t at, Py_ssize_t length) except -2

@cython.locals(char=Py_UCS4)
cdef Py_ssize_t word_end(str text, Py_ssize_t at, Py_ssize_t length) except -2

@cython.locals(kind=int)
cdef Py_ssize_t name_end(str text, Py_ssize_t at, Py_ssize_t length) except -2

@cython.locals(kind=int)
cdef Py_ssize_t tag_end(str text, Py_ssize_t at, Py_ssize_t length) except -2

@cython.locals(exponent=Py_ssize_t)
cdef Py_ssize_t number_end(str text, Py_ssize_t at, Py_ssize_t length) except -2

cdef Py_ssize_t digits_end(str text, Py_ssize_t at, Py_ssize_t length) except -2

cdef Py_ssize_t line_end(str text, Py_ssize_t at, Py_ssize_t length) except -2

@cython.locals(depth=Py_ssize_t, char=Py_UCS4)
cdef Py_ssize_t block_end(str text, Py_ssize_t at, Py_ssize_t length) except -2
