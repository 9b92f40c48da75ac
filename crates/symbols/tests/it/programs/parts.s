# A part whose unwind entry has its first rules in an entry that parts share, as assemblers write them.
    .text
    .globl work
    .type work, @function
work:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    test %edi, %edi
    jne part
    xor %eax, %eax
    pop %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size work, .-work

    .section .text.unlikely, "ax", @progbits
    .type part, @function
part:
    .cfi_startproc simple
    .cfi_def_cfa %rbp, 16
    .cfi_offset %rip, -8
    .cfi_offset %rbp, -16
    ud2
    nop
    .cfi_endproc
    .size part, .-part

    .text
    .globl main
    .type main, @function
main:
    .cfi_startproc
    xor %edi, %edi
    jmp work
    .cfi_endproc
    .size main, .-main

    .section .note.GNU-stack, "", @progbits
