# A function that states no size, no-ops up to the next one.
    .text
    .p2align 6
    .globl main
    .type main, @function
main:
    .cfi_startproc
    xor %eax, %eax
    ret
    .cfi_endproc

    .p2align 6
    .globl after
    .type after, @function
after:
    .cfi_startproc
    ret
    .cfi_endproc
    .size after, .-after

    .section .note.GNU-stack, "", @progbits
