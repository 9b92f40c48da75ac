-- A frame of a stack, with names: as many rows for a stack as it has frames. Ask with a `WHERE`, or
-- join with few stacks: all stacks written out are millions of rows.
--
-- recording text: The recording.
-- stack uint32 (row of stacks): The stack.
-- depth uint32: Frames between this one and the root; 0 for the root-most.
-- height uint32: Frames between this one and the leaf; 0 for where the stack ends.
-- frame uint32 (row of frames): The frame.
-- name text: `module!function`.
-- file text: Source file, if known.
-- line uint32: Line in it, if known.
-- inlined boolean: True when it was inlined into the next frame towards the root.
SELECT p.recording, p.stack, p.depth, p.height, p.frame, f.name, f.file, f.line, f.inlined
FROM frame_names f
JOIN stack_paths p ON p.recording = f.recording AND p.frame = f.frame
