-- The median length of the interactions of each day or hour: the middle one, or the mean of both.
--
-- bucket bigint: As in visit_rows.
-- robot bigint: As in visit_rows.
-- median_ms double (ms): The median.
WITH lengths AS (
  SELECT bucket, robot, duration_ms FROM visit_rows WHERE duration_ms IS NOT NULL
),
counted AS (
  SELECT bucket, robot, count(*) AS sessions FROM lengths GROUP BY bucket, robot
),
ranked AS (
  SELECT
    bucket,
    robot,
    duration_ms,
    row_number() OVER (PARTITION BY bucket, robot ORDER BY duration_ms) AS place_in_order
  FROM lengths
)
SELECT c.bucket, c.robot, avg(CAST(r.duration_ms AS DOUBLE)) AS median_ms
FROM counted c
JOIN ranked r ON r.bucket = c.bucket AND r.robot = c.robot
WHERE 2 * r.place_in_order >= c.sessions AND 2 * r.place_in_order <= c.sessions + 2
GROUP BY c.bucket, c.robot
