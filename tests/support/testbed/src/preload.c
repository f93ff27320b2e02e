/* The part that all preloaded libraries share. number() reads the file that TESTBED_NUMBER names,
   and returns 0 if it contains no number. If the number is not 0, it also creates a file with the
   suffix ".used", which tells the test that a process has read the number. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long number(void) {
    long number = 0;
    const char *path = getenv("TESTBED_NUMBER");
    FILE *file = path ? fopen(path, "re") : NULL;
    if (file) {
        if (fscanf(file, "%ld", &number) != 1) {
            number = 0;
        }
        fclose(file);
    }
    if (number != 0 && strlen(path) < 4000) {
        char used[4096];
        sprintf(used, "%s.used", path);
        file = fopen(used, "we");
        if (file) {
            fclose(file);
        }
    }
    return number;
}

