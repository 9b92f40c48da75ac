/* The one program of the image: removes the files that it is given. */
#include <stdio.h>

int main(int count, char **files) {
    for (int at = 1; at < count; at++)
        if (remove(files[at]) != 0)
            return perror(files[at]), 1;
    return 0;
}
