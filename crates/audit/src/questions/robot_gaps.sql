-- Gaps between the starts of consecutive interactions of each group.
--
-- first_key bigint: As in robot_groups.
-- second_key bigint: As in robot_groups.
-- gaps bigint: Gaps.
-- gap_sum double (s): Their sum.
-- gap_squares double (s2): The sum of their squares.
WITH starts AS (
  SELECT :first_key AS first_key, :second_key AS second_key, i.start_utc
  FROM interactions i
  :joined
  WHERE i.start_utc IS NOT NULL
),
gaps AS (
  SELECT
    first_key,
    second_key,
    (start_utc - lag(start_utc) OVER (
      PARTITION BY first_key, second_key ORDER BY start_utc
    )) / 1000e0 AS gap
  FROM starts
)
SELECT
  first_key,
  second_key,
  count(*) AS gaps,
  sum(gap) AS gap_sum,
  sum(gap * gap) AS gap_squares
FROM gaps
WHERE gap IS NOT NULL
GROUP BY first_key, second_key
