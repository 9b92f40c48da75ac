-- How evenly the interactions of each group are spread over the hours of the day (UTC).
--
-- first_key bigint: As in robot_groups.
-- second_key bigint: As in robot_groups.
-- c_ln_c double: The sum of c ln c over the hours that occur, c the interactions of an hour.
WITH starts AS (
  SELECT
    :first_key AS first_key,
    :second_key AS second_key,
    CAST(floor(i.start_utc / 3600000e0) AS BIGINT) % 24 AS hour_of_day
  FROM interactions i
  :joined
  WHERE i.start_utc IS NOT NULL
),
hours AS (
  SELECT first_key, second_key, hour_of_day, CAST(count(*) AS DOUBLE) AS visits
  FROM starts
  GROUP BY first_key, second_key, hour_of_day
)
SELECT first_key, second_key, sum(visits * ln(visits)) AS c_ln_c
FROM hours
GROUP BY first_key, second_key
