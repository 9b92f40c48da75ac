-- Wall-clock time in which one function had called another: callers of a function are the rows with
-- its name as `callee`, its callees those with its name as `caller`.
--
-- recording text: The recording.
-- caller text: `module!function` of the one nearer to the root.
-- callee text: `module!function` of the one that it called.
-- total bigint (ns): Time in which both were on a stack like this; recursion counts once.
-- self bigint (ns): Of this, the time in which the callee was the leaf.
WITH weights AS (
  SELECT recording, stack, sum(duration) AS time
  FROM intervals
  WHERE stack IS NOT NULL
  GROUP BY recording, stack
),
edges AS (
  SELECT s.recording, s.id AS node, caller.name AS caller, callee.name AS callee
  FROM stacks s
  JOIN stacks p ON p.recording = s.recording AND p.id = s.parent
  JOIN frame_names caller ON caller.recording = p.recording AND caller.frame = p.frame
  JOIN frame_names callee ON callee.recording = s.recording AND callee.frame = s.frame
),
weighted AS (
  SELECT p.recording, p.stack, p.node, p.height, w.time
  FROM weights w
  JOIN stack_paths p ON p.recording = w.recording AND p.stack = w.stack
),
reached AS (
  SELECT w.recording, w.stack, e.caller, e.callee, min(w.height) AS height, max(w.time) AS time
  FROM edges e
  JOIN weighted w ON w.recording = e.recording AND w.node = e.node
  GROUP BY w.recording, w.stack, e.caller, e.callee
)
SELECT
  recording,
  caller,
  callee,
  sum(time) AS total,
  sum(CASE WHEN height = 0 THEN time ELSE 0 END) AS self
FROM reached
GROUP BY recording, caller, callee
