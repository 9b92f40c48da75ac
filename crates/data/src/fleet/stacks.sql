-- What each stack weighs in each group, in all recordings together.
--
-- metric word: What the value counts.
-- group_name text: The group.
-- stack bigint: The stack.
-- cause word: Why the time passed; none when the metric is not a time.
-- total bigint: The value.
-- row_count bigint: Rows of the recordings behind it.
WITH grouped AS (
  SELECT s.metric, :group AS group_name, s.stack, s.cause, s.value AS weight, s.count AS behind
  FROM fleet_samples s
)
SELECT metric, group_name, stack, cause, sum(weight) AS total, sum(behind) AS row_count
FROM grouped
GROUP BY metric, group_name, stack, cause
ORDER BY metric, group_name, stack, cause
