-- How did the load change over time?
-- CPU time in slices of 100 ms; an interval belongs to the slice that it begins in.
SELECT start / 100000000 * 100 AS from_ms, sum(duration) / 1000000 AS cpu_ms,
  count(DISTINCT thread) AS threads
FROM intervals
WHERE cause LIKE 'cpu.%'
GROUP BY start / 100000000
ORDER BY from_ms
