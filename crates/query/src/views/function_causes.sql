-- A function's own time by cause.
--
-- recording text: The recording.
-- name text: `module!function`; none if the stack was lost.
-- cause text: Why the time passed.
-- self bigint (ns): How long.
-- intervals bigint: Number of intervals.
-- longest bigint (ns): The longest of them.
SELECT
  i.recording,
  l.name,
  i.cause,
  sum(i.duration) AS self,
  count(*) AS intervals,
  max(i.duration) AS longest
FROM intervals i
LEFT JOIN leaf_names l ON l.recording = i.recording AND l.stack = i.stack
GROUP BY i.recording, l.name, i.cause
