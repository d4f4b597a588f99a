/* What a program under valgrind can ask of memcheck. */
#include <valgrind/memcheck.h>

unsigned long errors(void) { return VALGRIND_COUNT_ERRORS; }

/* Bytes and blocks that are definitely lost by now; the records that are new are printed. */
void lost(unsigned long *found) {
    unsigned long definite = 0, possible = 0, reachable = 0, suppressed = 0;
    VALGRIND_DO_ADDED_LEAK_CHECK;
    VALGRIND_COUNT_LEAKS(definite, possible, reachable, suppressed);
    found[0] = definite;
    VALGRIND_COUNT_LEAK_BLOCKS(definite, possible, reachable, suppressed);
    found[1] = definite;
}

void say(const char *text) { VALGRIND_PRINTF("%s", text); }
