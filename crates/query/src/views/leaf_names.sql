-- Where a stack ends: what other views are joined with.
--
-- recording text: The recording.
-- stack uint32 (row of stacks): The stack.
-- name text: Its leaf, `module!function`.
SELECT s.recording, s.id AS stack, n.name
FROM frame_names n
JOIN stacks s ON s.recording = n.recording AND s.frame = n.frame
