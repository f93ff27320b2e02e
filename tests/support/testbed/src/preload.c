/* Before each preloaded library: the number that the file named by DRILL_NUMBER holds at
   this moment, or 0. That another number than 0 was read is told by a file beside it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long number(void) {
    long number = 0;
    const char *path = getenv("DRILL_NUMBER");
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

