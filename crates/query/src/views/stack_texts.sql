-- A stack as one text. Ask with a `WHERE`, or join with few stacks.
--
-- recording text: The recording.
-- stack uint32 (row of stacks): The stack.
-- text text: Its frames from the root to the leaf, with `;` between them.
-- frames bigint: How many there are.
SELECT
  recording,
  stack,
  string_agg(name, ';' ORDER BY depth) AS text,
  count(*) AS frames
FROM stack_frames
GROUP BY recording, stack
