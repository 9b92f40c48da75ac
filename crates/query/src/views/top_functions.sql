-- Wall-clock time of a function: its own, and with all that it called. Recursion counts once.
--
-- recording text: The recording.
-- name text: `module!function`.
-- self bigint (ns): Time in which it was the leaf of a stack.
-- total bigint (ns): Time in which it was on a stack.
-- self_cpu bigint (ns): Of `self`, the time on a CPU.
-- total_cpu bigint (ns): Of `total`, the time on a CPU.
-- intervals bigint: Intervals in which it was on a stack.
WITH weights AS (
  SELECT
    recording,
    stack,
    sum(duration) AS time,
    sum(CASE WHEN cause LIKE 'cpu.%' THEN duration ELSE 0 END) AS cpu,
    count(*) AS intervals
  FROM intervals
  WHERE stack IS NOT NULL
  GROUP BY recording, stack
),
weighted AS (
  SELECT p.recording, p.stack, p.frame, p.height, w.time, w.cpu, w.intervals
  FROM weights w
  JOIN stack_paths p ON p.recording = w.recording AND p.stack = w.stack
),
reached AS (
  SELECT
    w.recording,
    w.stack,
    n.name,
    min(w.height) AS height,
    max(w.time) AS time,
    max(w.cpu) AS cpu,
    max(w.intervals) AS intervals
  FROM frame_names n
  JOIN weighted w ON w.recording = n.recording AND w.frame = n.frame
  GROUP BY w.recording, w.stack, n.name
)
SELECT
  recording,
  name,
  sum(CASE WHEN height = 0 THEN time ELSE 0 END) AS self,
  sum(time) AS total,
  sum(CASE WHEN height = 0 THEN cpu ELSE 0 END) AS self_cpu,
  sum(cpu) AS total_cpu,
  sum(intervals) AS intervals
FROM reached
GROUP BY recording, name
