-- The frames of the stacks.
--
-- stack bigint: The stack.
-- depth bigint: Frames above it.
-- name text: `module!function`, a process, a thread, or a cause.
-- file text: Source file, if known.
-- build_id text: Build id of the module, if it has one.
SELECT DISTINCT f.stack, f.depth, f.name, f.file, f.build_id
FROM fleet_frames f
ORDER BY f.stack, f.depth
