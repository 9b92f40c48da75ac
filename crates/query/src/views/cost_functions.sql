-- Costs of a function in a recording that was made from another profiler's file: its own, and with
-- all that it called. Recursion counts once.
--
-- recording text: The recording.
-- metric text: What the costs count.
-- name text: `module!function`.
-- self bigint: Cost at stacks that end in it, in the metric's unit.
-- total bigint: Cost at stacks that it is on.
WITH weights AS (
  SELECT recording, metric, stack, sum(value) AS value
  FROM costs
  WHERE stack IS NOT NULL
  GROUP BY recording, metric, stack
),
weighted AS (
  SELECT p.recording, w.metric, p.stack, p.frame, p.height, w.value
  FROM weights w
  JOIN stack_paths p ON p.recording = w.recording AND p.stack = w.stack
),
reached AS (
  SELECT
    w.recording,
    w.metric,
    w.stack,
    n.name,
    min(w.height) AS height,
    max(w.value) AS value
  FROM frame_names n
  JOIN weighted w ON w.recording = n.recording AND w.frame = n.frame
  GROUP BY w.recording, w.metric, w.stack, n.name
)
SELECT
  recording,
  metric,
  name,
  sum(CASE WHEN height = 0 THEN value ELSE 0 END) AS self,
  sum(value) AS total
FROM reached
GROUP BY recording, metric, name
